"""What a sender hears about the store's verdict (4.8.0 `SendMessageProcessor.handlePutMessageResult`)."""

from __future__ import annotations

from rmqlab.protocol.codes import ResponseCode
from rmqlab.store.put_message_result import PutMessageStatus

# The message is stored; the code tells about disk and slave.
CODE_OF_STORED = {
    PutMessageStatus.PUT_OK: ResponseCode.SUCCESS,
    PutMessageStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
}
_LIMITS = (
    "the message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 128k, msg properties length limit 32k."
)
# How full the disk is stands in Java's remark, where our store has no disk to measure.
_UNAVAILABLE = (
    "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
    "[CL: -1.00 CQ: -1.00 INDEX: -1.00], messages are put to the slave, message store has been shut down, etc."
)
# The message is not stored.
REFUSAL_OF_STATUS = {
    PutMessageStatus.CREATE_MAPEDFILE_FAILED: (
        ResponseCode.SYSTEM_ERROR,
        "create mapped file failed, server is busy or broken.",
    ),
    PutMessageStatus.MESSAGE_ILLEGAL: (ResponseCode.MESSAGE_ILLEGAL, _LIMITS),
    PutMessageStatus.PROPERTIES_SIZE_EXCEEDED: (ResponseCode.MESSAGE_ILLEGAL, _LIMITS),
    PutMessageStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, _UNAVAILABLE),
    PutMessageStatus.OS_PAGECACHE_BUSY: (
        ResponseCode.SYSTEM_ERROR,
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
    ),
    PutMessageStatus.UNKNOWN_ERROR: (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR"),
}
