-- The ledger of losses: every message that a member asked for and the group let go by; by whom, at which stage,
-- under which subscription, and how many other groups got it.
WITH got AS (
  SELECT id, topic, queue, offset, COUNT(DISTINCT group) AS elsewhere
  FROM fates
  WHERE fate = 'delivered'
  GROUP BY id, topic, queue, offset
)
SELECT
  fates.id,
  fates.group,
  fates.topic,
  fates.queue,
  fates.offset,
  messages.msgId,
  messages.offsetMsgId,
  fates.body,
  fates.tag,
  CASE fates.fate
    WHEN 'dropped_by_broker_tag' THEN 'layer 1'
    WHEN 'dropped_by_broker_bitmap' THEN 'layer 1'
    WHEN 'dropped_by_broker_sql' THEN 'layer 2'
    WHEN 'dropped_by_client' THEN 'client'
    WHEN 'dropped_by_hook' THEN 'client'
    ELSE 'offset'
  END AS stage,
  fates.fate,
  fates.culprit,
  fates.subscription,
  fates.version,
  messages.t AS sent,
  fates.t AS lost,
  COALESCE(got.elsewhere, 0) AS elsewhere
FROM fates
JOIN messages USING (id, topic, queue, offset)
LEFT JOIN got USING (id, topic, queue, offset)
WHERE fates.lost
ORDER BY fates.id, messages.n, fates.group
