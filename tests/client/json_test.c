/* What the client makes of answers. */
#include <criterion/criterion.h>

#include "client/internal.h"

static struct quern_error read_error(const char *body, long status)
{
    struct quern_error err;

    quern_json_read_error(qn_str_from_cstr(body), status, &err);
    return err;
}

Test(client_json, code_of_an_error_is_its_shape_without_namespace)
{
    struct quern_error err = read_error(
        "{\"__type\":\"com.amazonaws.sqs#QueueDoesNotExist\",\"message\":\"gone\"}", 400);

    cr_expect_str_eq(err.code, "QueueDoesNotExist");
    cr_expect_str_eq(err.message, "gone");
    cr_expect_eq(err.http_status, 400);
}

Test(client_json, code_without_namespace_and_with_a_colon_is_understood)
{
    cr_expect_str_eq(read_error("{\"__type\":\"Throttled:http://x\",\"Message\":\"m\"}", 400).code,
                     "Throttled");
    cr_expect_str_eq(
        read_error("{\"__type\":\"Throttled:http://x\",\"Message\":\"m\"}", 400).message, "m");
}

Test(client_json, answer_that_is_no_json_still_tells_its_status)
{
    struct quern_error err = read_error("<html>", 502);

    cr_expect_str_eq(err.code, "UnreadableAnswer");
    cr_expect_str_eq(err.message, "HTTP status 502");
    cr_expect_eq(err.http_status, 502);
}

Test(client_json, error_whose_shape_has_no_name_is_unreadable)
{
    struct quern_error err =
        read_error("{\"__type\":\"com.amazonaws.sqs#\",\"message\":\"m\"}", 400);

    cr_expect_str_eq(err.code, "UnreadableAnswer");
    cr_expect_str_eq(err.message, "m");
}

Test(client_json, empty_answer_is_an_empty_object)
{
    json_t *value = quern_json_read(qn_str("", 0));

    cr_assert_not_null(value);
    cr_expect(json_is_object(value) && json_object_size(value) == 0);
    json_decref(value);
}

Test(client_json, text_with_any_character_survives_writing_and_reading)
{
    json_t *value = json_pack("{s:s}", "b", "\"\\\n\t \x01 \xf0\x9f\x98\x80 <&>");
    struct qn_buf buf;

    qn_buf_init(&buf, 1024);
    quern_json_write(value, &buf);
    json_t *back = quern_json_read(qn_buf_str(&buf));
    cr_expect(json_equal(value, back));
    qn_buf_done(&buf);
    json_decref(back);
    json_decref(value);
}
