-- Every queue that came into somebody's hands: when, from whom, and for how long nobody had it (ms). Below 0: for so
-- long two had it. `before` is NULL where nobody had it before.
WITH spells AS (
  SELECT id, group, topic, queue, who, t AS begin, COALESCE(
    LEAD(t) OVER (PARTITION BY id, group, topic, queue, who ORDER BY t, n), DOUBLE('Infinity')) AS end, n, held
  FROM ownership
),
held AS (SELECT * FROM spells WHERE held)
SELECT
  id,
  group,
  topic,
  queue,
  begin AS t,
  who,
  LAG(who) OVER one AS before,
  ROUND(begin - LAG(end) OVER one, 3) AS nobody
FROM held
WINDOW one AS (PARTITION BY id, group, topic, queue ORDER BY begin, n)
ORDER BY id, group, topic, t, n
