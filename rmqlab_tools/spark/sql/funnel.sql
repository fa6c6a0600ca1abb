-- How many messages of a topic came past each stage on their way to a group, and how many stopped there.
-- What no pull looked at, as far as is known (waiting, no owner, skipped, passed), stops at the first stage; what a listener
-- refused (retrying, dead letter) at the last one.
WITH judged AS (
  SELECT id, group, topic, CASE fate
    WHEN 'waiting' THEN 0
    WHEN 'no_owner' THEN 0
    WHEN 'skipped_by_offset' THEN 0
    WHEN 'passed' THEN 0
    WHEN 'dropped_by_broker_tag' THEN 1
    WHEN 'dropped_by_broker_bitmap' THEN 1
    WHEN 'dropped_by_broker_sql' THEN 2
    WHEN 'dropped_by_client' THEN 3
    WHEN 'dropped_by_hook' THEN 3
    WHEN 'delivered' THEN 5
    ELSE 4
  END AS stopped
  FROM fates
),
stages AS (
  SELECT * FROM VALUES (0, 'sent'), (1, 'layer 1'), (2, 'layer 2'), (3, 'client'), (4, 'delivered')
  AS stages (place, stage)
)
SELECT
  id,
  group,
  topic,
  place,
  stage,
  COUNT_IF(stopped > place) AS passed,
  COUNT_IF(stopped = place) AS stopped
FROM judged CROSS JOIN stages
GROUP BY id, group, topic, place, stage
ORDER BY id, group, topic, place
