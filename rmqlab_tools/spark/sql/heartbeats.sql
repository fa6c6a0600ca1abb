-- The heartbeats of each member of a group, as the broker got them: how many, the longest pause (ms), how often the
-- member stamped its subscription anew, and how often that turned the group's subscription into another text.
WITH paused AS (
  SELECT *, t - LAG(t) OVER (PARTITION BY id, group, topic, who ORDER BY t, n) AS pause
  FROM beats
),
flips AS (
  SELECT id, group, topic, who, COUNT_IF(before <> expression) AS flips
  FROM slots
  GROUP BY id, group, topic, who
)
SELECT
  id,
  group,
  topic,
  who,
  COUNT(*) AS beats,
  MIN(t) AS first,
  MAX(t) AS last,
  ROUND(MAX(pause), 1) AS longest_pause,
  COUNT(DISTINCT version) AS stamps,
  MAX_BY(expression, n) AS asked_last,
  COALESCE(MAX(flips), 0) AS flips
FROM paused
LEFT JOIN flips USING (id, group, topic, who)
GROUP BY id, group, topic, who
ORDER BY id, group, topic, who
