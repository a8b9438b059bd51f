//! The actions of the service: for each its fluent builder, the members of the request with their
//! setters and those of the answer with their getters.

use std::fmt::Debug;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::Client;
use serde_json::{json, Value};

use crate::wire::{filled, told, Trouble};

#[allow(deprecated)] // AttributeNames of ReceiveMessage: old programs still say it
pub async fn answer(client: &Client, action: &str, members: &Value) -> Result<Value, Trouble> {
    macro_rules! actions {
        ($($name:literal $method:ident $input:tt -> $output:tt)*) => {
            match action {
                $($name => match filled!(client.$method(), members, action, $input).send().await {
                    Ok(_output) => Ok(json!({ "output": told!(_output, $output) })),
                    Err(error) => refused(error),
                },)*
                _ => Err(Trouble::Lacks(action.to_owned())),
            }
        };
    }
    actions! {
        "AddPermission" add_permission {
            "QueueUrl" => set_queue_url, "Label" => set_label,
            "AWSAccountIds" => set_aws_account_ids, "Actions" => set_actions,
        } -> {}
        "CancelMessageMoveTask" cancel_message_move_task { "TaskHandle" => set_task_handle } -> {
            "ApproximateNumberOfMessagesMoved" => approximate_number_of_messages_moved,
        }
        "ChangeMessageVisibility" change_message_visibility {
            "QueueUrl" => set_queue_url, "ReceiptHandle" => set_receipt_handle,
            "VisibilityTimeout" => set_visibility_timeout,
        } -> {}
        "ChangeMessageVisibilityBatch" change_message_visibility_batch {
            "QueueUrl" => set_queue_url, "Entries" => set_entries,
        } -> { "Successful" => successful, "Failed" => failed }
        "CreateQueue" create_queue {
            "QueueName" => set_queue_name, "Attributes" => set_attributes, "tags" => set_tags,
        } -> { "QueueUrl" => queue_url }
        "DeleteMessage" delete_message {
            "QueueUrl" => set_queue_url, "ReceiptHandle" => set_receipt_handle,
        } -> {}
        "DeleteMessageBatch" delete_message_batch {
            "QueueUrl" => set_queue_url, "Entries" => set_entries,
        } -> { "Successful" => successful, "Failed" => failed }
        "DeleteQueue" delete_queue { "QueueUrl" => set_queue_url } -> {}
        "GetQueueAttributes" get_queue_attributes {
            "QueueUrl" => set_queue_url, "AttributeNames" => set_attribute_names,
        } -> { "Attributes" => attributes }
        "GetQueueUrl" get_queue_url {
            "QueueName" => set_queue_name,
            "QueueOwnerAWSAccountId" => set_queue_owner_aws_account_id,
        } -> { "QueueUrl" => queue_url }
        "ListDeadLetterSourceQueues" list_dead_letter_source_queues {
            "QueueUrl" => set_queue_url, "MaxResults" => set_max_results,
            "NextToken" => set_next_token,
        } -> { "queueUrls" => queue_urls, "NextToken" => next_token }
        "ListMessageMoveTasks" list_message_move_tasks {
            "SourceArn" => set_source_arn, "MaxResults" => set_max_results,
        } -> { "Results" => results }
        "ListQueueTags" list_queue_tags { "QueueUrl" => set_queue_url } -> { "Tags" => tags }
        "ListQueues" list_queues {
            "QueueNamePrefix" => set_queue_name_prefix, "MaxResults" => set_max_results,
            "NextToken" => set_next_token,
        } -> { "QueueUrls" => queue_urls, "NextToken" => next_token }
        "PurgeQueue" purge_queue { "QueueUrl" => set_queue_url } -> {}
        "ReceiveMessage" receive_message {
            "QueueUrl" => set_queue_url, "AttributeNames" => set_attribute_names,
            "SystemAttributeNames" => set_message_system_attribute_names,
            "MessageAttributeNames" => set_message_attribute_names,
            "MaxNumberOfMessages" => set_max_number_of_messages,
            "VisibilityTimeout" => set_visibility_timeout,
            "WaitTimeSeconds" => set_wait_time_seconds,
            "ReceiveRequestAttemptId" => set_receive_request_attempt_id,
        } -> { "Messages" => messages }
        "RemovePermission" remove_permission {
            "QueueUrl" => set_queue_url, "Label" => set_label,
        } -> {}
        "SendMessage" send_message {
            "QueueUrl" => set_queue_url, "MessageBody" => set_message_body,
            "DelaySeconds" => set_delay_seconds, "MessageAttributes" => set_message_attributes,
            "MessageSystemAttributes" => set_message_system_attributes,
            "MessageDeduplicationId" => set_message_deduplication_id,
            "MessageGroupId" => set_message_group_id,
        } -> {
            "MD5OfMessageBody" => md5_of_message_body,
            "MD5OfMessageAttributes" => md5_of_message_attributes,
            "MD5OfMessageSystemAttributes" => md5_of_message_system_attributes,
            "MessageId" => message_id, "SequenceNumber" => sequence_number,
        }
        "SendMessageBatch" send_message_batch {
            "QueueUrl" => set_queue_url, "Entries" => set_entries,
        } -> { "Successful" => successful, "Failed" => failed }
        "SetQueueAttributes" set_queue_attributes {
            "QueueUrl" => set_queue_url, "Attributes" => set_attributes,
        } -> {}
        "StartMessageMoveTask" start_message_move_task {
            "SourceArn" => set_source_arn, "DestinationArn" => set_destination_arn,
            "MaxNumberOfMessagesPerSecond" => set_max_number_of_messages_per_second,
        } -> { "TaskHandle" => task_handle }
        "TagQueue" tag_queue { "QueueUrl" => set_queue_url, "Tags" => set_tags } -> {}
        "UntagQueue" untag_queue { "QueueUrl" => set_queue_url, "TagKeys" => set_tag_keys } -> {}
    }
}

/// What a program that looks into the error can see of it.
fn refused<E>(error: SdkError<E, HttpResponse>) -> Result<Value, Trouble>
where
    E: ProvideErrorMetadata + Debug + std::error::Error + Send + Sync + 'static,
{
    let SdkError::ServiceError(context) = &error else {
        return Err(Trouble::Broken(DisplayErrorContext(&error).to_string()));
    };
    let detail = format!("{:?}", context.err());
    Ok(json!({"error": {
        "variant": detail.split('(').next(),
        "code": context.err().code(),
        "fault": context.err().meta().extra("type"),
        "status": context.raw().status().as_u16(),
        "message": context.err().message(),
    }}))
}
