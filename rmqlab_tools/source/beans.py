"""Consumers that beans of XML are: `DefaultMQPushConsumer` with its properties, and `ConsumerBean` of ONS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab.language import _
from rmqlab.protocol.subscription_data import TAG
from rmqlab_tools.source.drafts import FoundConsumer, FoundSubscription
from rmqlab_tools.source.values import GROUP_KEYS, NO_GROUP, Known, NotKnown, kind_of, or_all, text_if_known
from rmqlab_tools.source.xml_files import DamagedXmlError, Element, parse_document, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.files import Files
    from rmqlab_tools.source.settings import Settings
    from rmqlab_tools.source.values import Value

WORDS: Final = re.compile(r"MQPushConsumer|LitePullConsumer|ConsumerBean")
KINDS: Final = {
    "DefaultMQPushConsumer": "push", "DefaultLitePullConsumer": "lite", "ConsumerBean": "push",
    "OrderConsumerBean": "push", "BatchConsumerBean": "push",
}  # fmt: skip


def bean_consumers(files: Files, settings: Settings) -> Iterator[FoundConsumer]:
    """The consumers of all files of XML that name one."""
    for file in files.of(".xml"):
        text = files.text(file)
        if text is None or not WORDS.search(text) or "<bean" not in text:
            continue
        try:
            root = parse_document(text)
        except DamagedXmlError as error:
            files.troubles.append((file.shown, _("does not parse: {error}", error=error)))
            continue
        for bean in root.all("bean"):
            kind = KINDS.get(bean.attributes.get("class", "").rpartition(".")[2])
            if kind:
                consumer = _consumer(bean, kind, root, file.shown, settings)
                if not consumer.subscriptions:
                    consumer.remark = _("the bean has no subscriptions: code adds them")
                yield consumer


def _consumer(bean: Element, kind: str, root: Element, file: str, settings: Settings) -> FoundConsumer:
    properties = {each.attributes.get("name", ""): each for each in bean.children if each.name == "property"}
    short = {key: value for key, value in bean.attributes.items() if key.startswith("p:")}

    def text(name: str) -> Value | None:
        if f"p:{name}" in short:
            return settings.filled(short[f"p:{name}"], file)
        return None if name not in properties else _value(properties[name], file, settings)

    group = text("consumerGroup")
    if group is None and "properties" in properties:
        group = next(
            (
                _value(each, file, settings)
                for each in properties["properties"].all("prop")
                if each.attributes.get("key") in GROUP_KEYS
            ),
            None,
        )
    if group is None:
        arguments = [each for each in bean.children if each.name == "constructor-arg"]
        group = _value(arguments[0], file, settings) if arguments else None
    name = bean.attributes.get("id") or bean.attributes.get("name") or "bean"
    made = FoundConsumer(name, file, bean.line, NO_GROUP if group is None else group, kind)
    model = text("messageModel")
    if isinstance(model, Known):
        made.settings["messageModel"] = model.text
    made.servers = text_if_known(text("namesrvAddr"))
    for each in properties["subscription"].all("entry") if "subscription" in properties else ():
        topic = settings.filled(each.attributes.get("key", ""), file)
        made.subscriptions.append(
            FoundSubscription(topic, Known(TAG), or_all(_value(each, file, settings)), file, each.line)
        )
    if "subscriptionTable" in properties:
        made.subscriptions += _table(properties["subscriptionTable"], root, file, settings)
    return made


def _table(element: Element, root: Element, file: str, settings: Settings) -> Iterator[FoundSubscription]:
    """Keys of ONS are beans of class `Subscription`."""
    keys = [bean for key in element.all("key") for bean in key.all("bean")]
    references = [each.attributes["key-ref"] for each in element.all("entry") if "key-ref" in each.attributes]
    keys += [bean for bean in root.all("bean") if bean.attributes.get("id") in references]
    for key in keys:
        given = {each.attributes.get("name", ""): _value(each, file, settings) for each in key.all("property")}
        kind = kind_of(given.get("type", Known(TAG)))
        topic = given.get("topic", NotKnown(_("a subscription of the table is made elsewhere")))
        yield FoundSubscription(topic, kind, or_all(given.get("expression", Known("*"))), file, key.line)


def _value(element: Element, file: str, settings: Settings) -> Value:
    text = value_text(element)
    if text is None:
        return NotKnown(_("{name} is no text", name=element.attributes.get("name") or element.name))
    return settings.filled(text, file)
