"""The sentence with a link that 4.8.0 adds to some remarks (`FAQUrl.suggestTodo`; all its links are the same)."""

from __future__ import annotations

SUGGEST_TODO = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
