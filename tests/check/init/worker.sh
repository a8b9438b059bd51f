# The work of one message, for `quern consume`.
. ./quern_adapter.sh
quern_handle
