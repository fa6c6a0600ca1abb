"""A broker of my own: the rules that I wrote, lesson by lesson. rmqlab.mine() reads them.

Each rule stands between two lines that begin with # %%. Change what you like, and add what you like:
a rule that you changed counts as not judged, until its task finds it right again.
"""


# %% tags_code · 02-code · 21f0933e
def tags_code(tag):
    code = 0
    for letter in tag or "":
        code = (code * 31 + ord(letter)) % 2**32
    return code - 2**32 if code >= 2**31 else code


# %% is_matched_by_consume_queue · 02-broker · f87d90dd
def narrow(code):
    return (code + 2**31) % 2**32 - 2**31

def is_matched_by_consume_queue(subscription, code):
    return code is None or subscription.sub_string == "*" or narrow(code) in subscription.code_set


# %% client_keeps · 02-client · df6cb8d5
def client_keeps(subscription, tag):
    if not subscription.tags_set or subscription.class_filter_mode:
        return True
    return tag in subscription.tags_set


# %% bit_positions · 04-positions · 9be35874
def bit_positions(hash64, k, m):
    h1, h2 = hash64 & 0xFFFFFFFF, hash64 >> 32 & 0xFFFFFFFF
    positions = []
    for i in range(1, k + 1):
        number = (h1 + i * h2) & 0xFFFFFFFF
        if number >= 1 << 31:  # negative as an int
            number = ~number & 0xFFFFFFFF
        positions.append(number % m)
    return positions


# %% is_hit · 04-hit · b85329b1
def is_hit(positions, is_set):
    return all(is_set(position) for position in positions)


# %% is_expired · 06-rule · 2afe2568
def is_expired(now, last_update_timestamp, channel_expired_ms):
    silence = now - last_update_timestamp
    return silence > channel_expired_ms


# %% heartbeat_period_ms · 06-periods · a8500999
heartbeat_period_ms = 3000


# %% channel_expired_ms · 06-periods · e3e3eafb
channel_expired_ms = 10000


# %% scan_period_ms · 06-periods · 39a11962
scan_period_ms = 2000


# %% rebalance_period_ms · 06-periods · 1cf44b55
rebalance_period_ms = 5000


# %% allocate · 07-rule · 483053f1
import zlib

def allocate(current_cid, mq_all, cid_all):
    def winner(queue):
        return max(cid_all, key=lambda cid: zlib.crc32(f"{cid} {queue}".encode()))

    return [queue for queue in mq_all if winner(queue) == current_cid]


# %% update_subscription · 08-rule · 39680a03
# It took the place of an earlier one (01-rule): my_rules_earlier.py.
import dataclasses
import rmqlab

def update_subscription(held, told):
    table = {}
    for new in told:
        old = held.get(new.topic, new)
        if new.tags_set and old.tags_set:
            both = rmqlab.tags(" || ".join(sorted(new.tags_set | old.tags_set)))
            new = dataclasses.replace(both, topic=new.topic, sub_version=max(new.sub_version, old.sub_version))
        table[new.topic] = new
    return table


# %% is_latest · 10-rule · 6b71a799
def is_latest(held_version, pull_version):
    return held_version >= pull_version


# %% waiter_to_wake · 15-waiter · f0556d2a
def waiter_to_wake(waiters, wants):
    return next(filter(wants, waiters), None)

# %%
