/* What AWS refuses about message attributes (MA-1 to MA-11) and message system attributes (8.3). */
#include "server/actions/message_attributes.h"
#include "server/actions/letters.h"

const struct qn_field qn_message_attribute_fields[] = {
    {"StringValue", NULL, QN_STRING, 0, offsetof(struct qn_message_attribute, string_value), NULL,
     NULL, NULL},
    {"BinaryValue", NULL, QN_BLOB, 0, offsetof(struct qn_message_attribute, binary_value), NULL,
     NULL, NULL},
    {"StringListValues", "StringListValue", QN_STRING_LIST, 0,
     offsetof(struct qn_message_attribute, string_list_values), NULL, NULL, NULL},
    {"BinaryListValues", "BinaryListValue", QN_STRING_LIST, 0,
     offsetof(struct qn_message_attribute, binary_list_values), NULL, NULL, NULL},
    {"DataType", NULL, QN_STRING, 0, offsetof(struct qn_message_attribute, data_type), NULL, NULL,
     NULL},
};
const struct qn_shape qn_message_attribute_shape =
    QN_SHAPE(struct qn_message_attribute, qn_message_attribute_fields);
const struct qn_shape qn_message_system_attribute_shape =
    QN_SHAPE(struct qn_message_attribute, qn_message_attribute_fields);

enum { NUMBER_EXPONENT_MAX = 126, NUMBER_EXPONENT_MIN = -128 };

static bool refuse(struct qn_error *err, const struct qn_message_attribute *attribute,
                   const char *problem)
{
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "Message (user) attribute '%.*s' %s",
                   QN_STR_ARG(qn_str_first(attribute->name, 256)), problem);
}

static bool check_name(const struct qn_message_attribute *attribute, struct qn_error *err)
{
    struct qn_str name = attribute->name;

    if (name.len == 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Message (user) attribute names must not be empty.");
    }
    if (qn_count_characters(name) > QN_ATTRIBUTE_NAME_MAX) {
        return refuse(err, attribute, "has a name of more than 256 characters.");
    }
    if (name.ptr[0] == '.' || name.ptr[name.len - 1] == '.' ||
        qn_str_find(name, QN_STR("..")) < name.len) {
        return refuse(err, attribute,
                      "has a name that starts or ends with a period, or has two in a row.");
    }
    if (qn_str_starts_with_nocase(name, QN_STR("AWS.")) ||
        qn_str_starts_with_nocase(name, QN_STR("Amazon."))) {
        return refuse(err, attribute, "has a name with a reserved prefix (AWS. or Amazon.).");
    }
    if (!qn_is_letters(name, "_-.", false)) {
        return refuse(err, attribute,
                      "has a name with characters other than letters, digits, '_', '-' and '.'.");
    }
    return true;
}

static bool has_base_type(struct qn_str type, struct qn_str base)
{
    return qn_str_starts_with(type, base) &&
           (type.len == base.len || (type.ptr[base.len] == '.' && type.len > base.len + 1));
}

/* An optional sign, digits with at most one point, an optional exponent; 38 significant digits. */
static bool is_number(struct qn_str text)
{
    size_t at = 0;
    int64_t digits = 0;        /* significant ones */
    int64_t before_point = 0;  /* digits of the integer part, from the first that counts */
    int64_t leading_zeros = 0; /* behind the point, before the first that counts */
    int64_t exponent = 0;
    bool any = false;
    bool point = false;
    int64_t trailing_zeros = 0;

    if (at < text.len && (text.ptr[at] == '+' || text.ptr[at] == '-')) {
        at++;
    }
    for (; at < text.len; at++) {
        char c = text.ptr[at];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') {
            break;
        }
        any = true;
        if (digits == 0 && c == '0') {
            leading_zeros += point;
            continue;
        }
        digits++;
        trailing_zeros = c == '0' ? trailing_zeros + 1 : 0;
        before_point += !point;
    }
    if (!any) {
        return false;
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        struct qn_str rest = qn_str_from(text, at + 1);
        if (rest.len > 1 && rest.ptr[0] == '+' && rest.ptr[1] != '-') {
            rest = qn_str_from(rest, 1);
        }
        if (!qn_str_to_int64(rest, -100000, 100000, &exponent)) {
            return false;
        }
        at = text.len;
    }
    if (at != text.len) {
        return false;
    }
    if (digits == 0) {
        return true;
    }
    /* Power of ten of the first digit that counts. */
    int64_t magnitude = exponent + (before_point > 0 ? before_point - 1 : -leading_zeros - 1);
    return digits - trailing_zeros <= QN_NUMBER_DIGITS_MAX && magnitude <= NUMBER_EXPONENT_MAX &&
           magnitude >= NUMBER_EXPONENT_MIN;
}

static bool check_value(const struct qn_message_attribute *attribute, struct qn_error *err)
{
    struct qn_str type = attribute->data_type;
    bool is_string = has_base_type(type, QN_STR("String"));
    bool is_numeric = has_base_type(type, QN_STR("Number"));
    bool is_binary = has_base_type(type, QN_STR("Binary"));

    if (!is_string && !is_numeric && !is_binary) {
        return refuse(
            err, attribute,
            "has an invalid message attribute type, the set of supported type prefixes is "
            "Binary, Number, and String.");
    }
    if (is_binary) {
        if (attribute->string_value.len > 0) {
            return refuse(err, attribute, "of type 'Binary' must not have a StringValue.");
        }
        return attribute->binary_value.len > 0 ||
               refuse(err, attribute, "must contain a non-empty value of type 'Binary'.");
    }
    if (attribute->binary_value.len > 0) {
        return refuse(err, attribute, "of type 'String' or 'Number' must not have a BinaryValue.");
    }
    if (attribute->string_value.len == 0) {
        return refuse(err, attribute, "must contain a non-empty value of type 'String'.");
    }
    if (is_numeric) {
        return is_number(attribute->string_value) ||
               refuse(err, attribute,
                      "must be a number of at most 38 digits between 10^-128 and 10^+126.");
    }
    return qn_str_is_xml_text(attribute->string_value) ||
           refuse(err, attribute, "has a value with characters that are not allowed.");
}

static bool check_one(const struct qn_message_attribute *attribute, struct qn_error *err)
{
    if (!check_name(attribute, err)) {
        return false;
    }
    if (attribute->string_list_values.count > 0 || attribute->binary_list_values.count > 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Message attribute list values in SendMessage operation are not supported.");
    }
    if (attribute->data_type.len == 0) {
        return refuse(err, attribute, "must contain a DataType.");
    }
    if (qn_count_characters(attribute->data_type) > QN_ATTRIBUTE_TYPE_MAX) {
        return refuse(err, attribute, "has a DataType of more than 256 characters.");
    }
    return check_value(attribute, err);
}

bool qn_message_attributes_check(struct qn_list attributes, struct qn_error *err)
{
    const struct qn_message_attribute *items = attributes.items;

    if (attributes.count > QN_MESSAGE_ATTRIBUTES_MAX) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Number of message attributes [%zu] exceeds the allowed maximum [%d].",
                       attributes.count, QN_MESSAGE_ATTRIBUTES_MAX);
    }
    for (size_t i = 0; i < attributes.count; i++) {
        if (!check_one(&items[i], err)) {
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (qn_str_equal(items[i].name, items[j].name)) {
                return refuse(err, &items[i], "is given more than once.");
            }
        }
    }
    return true;
}

bool qn_message_system_attributes_check(struct qn_list attributes, struct qn_error *err)
{
    const struct qn_message_attribute *items = attributes.items;

    for (size_t i = 0; i < attributes.count; i++) {
        if (!qn_str_equal(items[i].name, QN_STR("AWSTraceHeader")) || i > 0) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "Message system attribute name '%.*s' is invalid.",
                           QN_STR_ARG(qn_str_first(items[i].name, 256)));
        }
        if (!qn_str_equal(items[i].data_type, QN_STR("String")) || items[i].binary_value.len > 0) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "Message system attribute 'AWSTraceHeader' must be of type String.");
        }
        if (items[i].string_value.len == 0) {
            return qn_fail(
                err, QN_ERR_INVALID_PARAMETER_VALUE,
                "Message system attribute 'AWSTraceHeader' must contain a non-empty value "
                "of type 'String'.");
        }
    }
    return true;
}

size_t qn_message_attributes_size(struct qn_list attributes)
{
    const struct qn_message_attribute *items = attributes.items;
    size_t size = 0;

    for (size_t i = 0; i < attributes.count; i++) {
        size += items[i].name.len + items[i].data_type.len + items[i].string_value.len +
                items[i].binary_value.len;
    }
    return size;
}

void qn_message_attributes_sort(struct qn_list attributes)
{
    struct qn_message_attribute *items = attributes.items;

    for (size_t i = 1; i < attributes.count; i++) {
        struct qn_message_attribute item = items[i];
        size_t j = i;
        for (; j > 0 && qn_str_compare(items[j - 1].name, item.name) > 0; j--) {
            items[j] = items[j - 1];
        }
        items[j] = item;
    }
}
