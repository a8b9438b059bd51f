# Works on one body, its input.
. ./quern_adapter.sh
quern_handle
