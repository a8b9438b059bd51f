/* The body of an answer: what stands around the members of an output, and errors. */
#include "server/wire/codec.h"

#include "server/actions/actions.h"
#include "server/base/xml.h"

#define XML_DECLARATION "<?xml version=\"1.0\"?>"
#define XML_NAMESPACE " xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\""

static bool has_output(const struct qn_action *action)
{
    return action->output->field_count > 0;
}

static void append_cstr(struct qn_buf *buf, const char *text)
{
    qn_buf_append(buf, text, strlen(text));
}

static void append_xml_result(struct qn_buf *buf, const struct qn_request *request)
{
    const char *name = request->action->name;
    size_t open;

    append_cstr(buf, "<");
    append_cstr(buf, name);
    append_cstr(buf, "Result>");
    open = buf->len;
    qn_wire_write_xml(buf, request->action->output, request->output);
    if (buf->len == open && !buf->overflow) {
        buf->len--; /* nothing in it: an empty-element tag */
        append_cstr(buf, "/>");
        return;
    }
    append_cstr(buf, "</");
    append_cstr(buf, name);
    append_cstr(buf, "Result>");
}

static void append_xml(struct qn_buf *buf, const struct qn_request *request)
{
    const char *name = request->action->name;

    append_cstr(buf, XML_DECLARATION "<");
    append_cstr(buf, name);
    append_cstr(buf, "Response" XML_NAMESPACE ">");
    if (has_output(request->action)) {
        append_xml_result(buf, request);
    }
    append_cstr(buf, "<ResponseMetadata><RequestId>");
    append_cstr(buf, request->request_id);
    append_cstr(buf, "</RequestId></ResponseMetadata></");
    append_cstr(buf, name);
    append_cstr(buf, "Response>");
}

static void append_query_json(struct qn_buf *buf, const struct qn_request *request)
{
    const char *name = request->action->name;

    append_cstr(buf, "{\"");
    append_cstr(buf, name);
    append_cstr(buf, "Response\":{\"");
    append_cstr(buf, name);
    append_cstr(buf, "Result\":");
    if (has_output(request->action)) {
        qn_wire_write_query_json(buf, request->action->output, request->output);
    } else {
        append_cstr(buf, "null");
    }
    append_cstr(buf, ",\"ResponseMetadata\":{\"RequestId\":\"");
    append_cstr(buf, request->request_id);
    append_cstr(buf, "\"}}}");
}

void qn_wire_encode_output(const struct qn_request *request, struct qn_buf *buf)
{
    switch (request->protocol) {
    case QN_PROTOCOL_JSON:
        if (has_output(request->action)) {
            qn_wire_write_json(buf, request->action->output, request->output);
        }
        break;
    case QN_PROTOCOL_QUERY:
        append_xml(buf, request);
        break;
    case QN_PROTOCOL_QUERY_JSON:
        append_query_json(buf, request);
        break;
    }
}

/* The query protocol has a longer text for a queue that is not there. */
static struct qn_str query_message(const struct qn_error *err)
{
    struct qn_str message = qn_str_from_cstr(err->message);

    if (err->code == QN_ERR_QUEUE_DOES_NOT_EXIST &&
        qn_str_equal(message, QN_STR("The specified queue does not exist."))) {
        return QN_STR("The specified queue does not exist for this wsdl version.");
    }
    return message;
}

/* As a JSON string. Texts are UTF-8; one that is not (it may come from a fault rule) must not break
 * the answer. */
static void append_json_text(struct qn_buf *buf, struct qn_str text)
{
    char ascii[QN_ERROR_MESSAGE_MAX];

    if (!qn_str_is_utf8(text)) {
        text = qn_str_first(text, sizeof(ascii));
        for (size_t i = 0; i < text.len; i++) {
            ascii[i] = (unsigned char)text.ptr[i] < 0x80 ? text.ptr[i] : '?';
        }
        text = qn_str(ascii, text.len);
    }
    qn_buf_append_json_string(buf, text);
}

static void append_json_error(struct qn_buf *buf, const struct qn_error *err)
{
    append_cstr(buf, "{\"__type\":\"");
    append_cstr(buf, qn_error_info(err->code)->json_type);
    append_cstr(buf, "\"");
    if (err->message[0] != '\0') {
        append_cstr(buf, ",\"message\":");
        append_json_text(buf, qn_str_from_cstr(err->message));
    }
    append_cstr(buf, "}");
}

static const char *fault_of(const struct qn_error_info *info)
{
    return info->sender ? "Sender" : "Receiver";
}

static void append_xml_error(struct qn_buf *buf, const struct qn_request *request,
                             const struct qn_error *err)
{
    const struct qn_error_info *info = qn_error_info(err->code);

    append_cstr(buf, XML_DECLARATION "<ErrorResponse" XML_NAMESPACE "><Error><Type>");
    append_cstr(buf, fault_of(info));
    append_cstr(buf, "</Type><Code>");
    append_cstr(buf, info->query_code);
    append_cstr(buf, "</Code><Message>");
    qn_xml_append_text(buf, query_message(err), true);
    append_cstr(buf, "</Message><Detail/></Error><RequestId>");
    append_cstr(buf, request->request_id);
    append_cstr(buf, "</RequestId></ErrorResponse>");
}

/* What answers a queue's path without an action stands before the protocol and has a form of its
 * own. */
static void append_unknown_operation(struct qn_buf *buf, const struct qn_error *err)
{
    append_cstr(buf, XML_DECLARATION "<UnknownOperationException><Message>");
    qn_xml_append_text(buf, qn_str_from_cstr(err->message), true);
    append_cstr(buf, "</Message></UnknownOperationException>");
}

static void append_query_json_error(struct qn_buf *buf, const struct qn_request *request,
                                    const struct qn_error *err)
{
    const struct qn_error_info *info = qn_error_info(err->code);

    append_cstr(buf, "{\"Error\":{\"Type\":\"");
    append_cstr(buf, fault_of(info));
    append_cstr(buf, "\",\"Code\":\"");
    append_cstr(buf, info->query_code);
    append_cstr(buf, "\",\"Message\":");
    append_json_text(buf, query_message(err));
    append_cstr(buf, ",\"Detail\":null},\"RequestId\":\"");
    append_cstr(buf, request->request_id);
    append_cstr(buf, "\"}");
}

void qn_wire_encode_error(const struct qn_request *request, const struct qn_error *err,
                          struct qn_buf *buf)
{
    if (request->protocol == QN_PROTOCOL_JSON) {
        append_json_error(buf, err);
    } else if (err->code == QN_ERR_UNKNOWN_OPERATION_404) {
        append_unknown_operation(buf, err);
    } else if (request->protocol == QN_PROTOCOL_QUERY) {
        append_xml_error(buf, request, err);
    } else {
        append_query_json_error(buf, request, err);
    }
}

const char *qn_wire_content_type(const struct qn_request *request)
{
    switch (request->protocol) {
    case QN_PROTOCOL_JSON:
        return "application/x-amz-json-1.0";
    case QN_PROTOCOL_QUERY:
        return "text/xml";
    default:
        return "application/json";
    }
}
