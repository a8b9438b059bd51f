# A small consumer around the adapter that `quern check init` writes; SQS without an SDK.
. ./quern_adapter.sh
trap 'stop=1' TERM
sqs() {
    curl -fsS -m 30 -H 'Content-Type: application/x-amz-json-1.0' -H "X-Amz-Target: AmazonSQS.$1" \
        --data-binary @- "$AWS_ENDPOINT_URL"
}
while [ -z "$stop" ]; do
    answer=$(jq -n '{QueueUrl: env.QUEUE_URL, WaitTimeSeconds: 1}' | sqs ReceiveMessage) || { sleep 0.2; continue; }
    printf %s "$answer" | jq -e '.Messages[0]' > /dev/null || continue
    printf %s "$answer" | jq -r '.Messages[0].Body' | quern_handle &&
        printf %s "$answer" | jq '{QueueUrl: env.QUEUE_URL, ReceiptHandle: .Messages[0].ReceiptHandle}' |
        sqs DeleteMessage
done
