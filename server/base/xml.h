/* Text for XML and HTML. */
#ifndef QN_BASE_XML_H
#define QN_BASE_XML_H

#include "server/base/buf.h"

/* Text of an element, or with escape_quotes of an attribute in double quotes too. What XML 1.0
 * cannot hold becomes U+FFFD; so does each byte beyond ASCII when the text is not UTF-8. */
void qn_xml_append_text(struct qn_buf *buf, struct qn_str text, bool escape_quotes);

#endif
