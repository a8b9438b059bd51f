//! JSON to the SDK's types and back. An absent value, and an empty list or map, is left out.

use std::collections::HashMap;
use std::hash::Hash;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry,
    ChangeMessageVisibilityBatchResultEntry, DeleteMessageBatchRequestEntry,
    DeleteMessageBatchResultEntry, ListMessageMoveTasksResultEntry, Message, MessageAttributeValue,
    MessageSystemAttributeName, MessageSystemAttributeValue, QueueAttributeName,
    SendMessageBatchRequestEntry, SendMessageBatchResultEntry,
};
use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::{json, Map, Value};

pub enum Trouble {
    /// The SDK has no way to say this.
    Lacks(String),
    Broken(String),
}

/// A builder with all members set; each name is given with its setter.
macro_rules! filled {
    ($builder:expr, $members:expr, $path:expr, { $($name:literal => $set:ident),* $(,)? }) => {{
        let mut builder = $builder;
        for (name, value) in $members.as_object().into_iter().flatten() {
            let inside = format!("{}.{}", $path, name);
            builder = match name.as_str() {
                $($name => builder.$set(Some($crate::wire::FromWire::from_wire(value, &inside)?)),)*
                _ => return Err($crate::wire::Trouble::Lacks(inside)),
            };
        }
        builder
    }};
}

/// A JSON object; each name is given with its getter.
macro_rules! told {
    ($shape:expr, { $($name:literal => $get:ident),* $(,)? }) => {{
        #[allow(unused_mut)]
        let mut object = serde_json::Map::new();
        $($crate::wire::put(&mut object, $name, &$shape.$get());)*
        serde_json::Value::Object(object)
    }};
}

pub(crate) use {filled, told};

pub trait FromWire: Sized {
    fn from_wire(value: &Value, path: &str) -> Result<Self, Trouble>;
}

fn wrong(value: &Value, path: &str) -> Trouble {
    Trouble::Broken(format!("{path} cannot be {value}"))
}

impl FromWire for String {
    fn from_wire(value: &Value, path: &str) -> Result<Self, Trouble> {
        value.as_str().map(str::to_owned).ok_or_else(|| wrong(value, path))
    }
}

impl FromWire for i32 {
    fn from_wire(value: &Value, path: &str) -> Result<Self, Trouble> {
        let number = value.as_i64().and_then(|number| number.try_into().ok());
        number.ok_or_else(|| wrong(value, path))
    }
}

impl FromWire for Blob {
    fn from_wire(value: &Value, path: &str) -> Result<Self, Trouble> {
        let text = value["$bytes"].as_str().ok_or_else(|| wrong(value, path))?;
        BASE64_STANDARD.decode(text).map(Blob::new).map_err(|_| wrong(value, path))
    }
}

impl<T: FromWire> FromWire for Vec<T> {
    fn from_wire(value: &Value, path: &str) -> Result<Self, Trouble> {
        let list = value.as_array().ok_or_else(|| wrong(value, path))?;
        list.iter().map(|item| T::from_wire(item, path)).collect()
    }
}

impl<K: for<'a> From<&'a str> + Eq + Hash, T: FromWire> FromWire for HashMap<K, T> {
    fn from_wire(value: &Value, path: &str) -> Result<Self, Trouble> {
        let map = value.as_object().ok_or_else(|| wrong(value, path))?;
        map.iter().map(|(key, item)| Ok((K::from(key), T::from_wire(item, path)?))).collect()
    }
}

macro_rules! names {
    ($($name:ident),*) => {$(
        impl FromWire for $name {
            fn from_wire(value: &Value, path: &str) -> Result<Self, Trouble> {
                value.as_str().map($name::from).ok_or_else(|| wrong(value, path))
            }
        }
    )*};
}

names!(QueueAttributeName, MessageSystemAttributeName);

macro_rules! shapes_in {
    ($($shape:ident $members:tt)*) => {$(
        impl FromWire for $shape {
            fn from_wire(value: &Value, path: &str) -> Result<Self, Trouble> {
                let built = filled!($shape::builder(), value, path, $members).build();
                built.map_err(|error| Trouble::Lacks(error.to_string()))
            }
        }
    )*};
}

shapes_in! {
    MessageAttributeValue {
        "StringValue" => set_string_value,
        "BinaryValue" => set_binary_value,
        "StringListValues" => set_string_list_values,
        "BinaryListValues" => set_binary_list_values,
        "DataType" => set_data_type,
    }
    MessageSystemAttributeValue {
        "StringValue" => set_string_value,
        "BinaryValue" => set_binary_value,
        "StringListValues" => set_string_list_values,
        "BinaryListValues" => set_binary_list_values,
        "DataType" => set_data_type,
    }
    SendMessageBatchRequestEntry {
        "Id" => set_id,
        "MessageBody" => set_message_body,
        "DelaySeconds" => set_delay_seconds,
        "MessageAttributes" => set_message_attributes,
        "MessageSystemAttributes" => set_message_system_attributes,
        "MessageDeduplicationId" => set_message_deduplication_id,
        "MessageGroupId" => set_message_group_id,
    }
    DeleteMessageBatchRequestEntry {
        "Id" => set_id,
        "ReceiptHandle" => set_receipt_handle,
    }
    ChangeMessageVisibilityBatchRequestEntry {
        "Id" => set_id,
        "ReceiptHandle" => set_receipt_handle,
        "VisibilityTimeout" => set_visibility_timeout,
    }
}

pub trait ToWire {
    fn to_wire(&self) -> Option<Value>;
}

pub fn put(object: &mut Map<String, Value>, name: &str, value: &dyn ToWire) {
    if let Some(value) = value.to_wire() {
        object.insert(name.to_owned(), value);
    }
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl ToWire for $type {
            fn to_wire(&self) -> Option<Value> {
                Some(json!(self))
            }
        }
    )*};
}

plain!(str, String, bool, i32, i64);

impl ToWire for Blob {
    fn to_wire(&self) -> Option<Value> {
        Some(json!({"$bytes": BASE64_STANDARD.encode(self)}))
    }
}

impl<T: ToWire + ?Sized> ToWire for &T {
    fn to_wire(&self) -> Option<Value> {
        (**self).to_wire()
    }
}

impl<T: ToWire> ToWire for Option<T> {
    fn to_wire(&self) -> Option<Value> {
        self.as_ref().and_then(ToWire::to_wire)
    }
}

impl<T: ToWire> ToWire for [T] {
    fn to_wire(&self) -> Option<Value> {
        let list: Vec<Value> = self.iter().filter_map(ToWire::to_wire).collect();
        (!list.is_empty()).then_some(Value::Array(list))
    }
}

/// A key of a map: text, or a value of an enumeration.
pub trait Key {
    fn text(&self) -> &str;
}

impl Key for String {
    fn text(&self) -> &str {
        self
    }
}

impl Key for QueueAttributeName {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl Key for MessageSystemAttributeName {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl<K: Key, T: ToWire> ToWire for HashMap<K, T> {
    fn to_wire(&self) -> Option<Value> {
        let mut object = Map::new();
        for (key, item) in self {
            put(&mut object, key.text(), item);
        }
        (!object.is_empty()).then_some(Value::Object(object))
    }
}

macro_rules! shapes_out {
    ($($shape:ident $members:tt)*) => {$(
        impl ToWire for $shape {
            fn to_wire(&self) -> Option<Value> {
                Some(told!(self, $members))
            }
        }
    )*};
}

shapes_out! {
    Message {
        "MessageId" => message_id,
        "ReceiptHandle" => receipt_handle,
        "MD5OfBody" => md5_of_body,
        "Body" => body,
        "Attributes" => attributes,
        "MD5OfMessageAttributes" => md5_of_message_attributes,
        "MessageAttributes" => message_attributes,
    }
    MessageAttributeValue {
        "StringValue" => string_value,
        "BinaryValue" => binary_value,
        "StringListValues" => string_list_values,
        "BinaryListValues" => binary_list_values,
        "DataType" => data_type,
    }
    SendMessageBatchResultEntry {
        "Id" => id,
        "MessageId" => message_id,
        "MD5OfMessageBody" => md5_of_message_body,
        "MD5OfMessageAttributes" => md5_of_message_attributes,
        "MD5OfMessageSystemAttributes" => md5_of_message_system_attributes,
        "SequenceNumber" => sequence_number,
    }
    DeleteMessageBatchResultEntry { "Id" => id }
    ChangeMessageVisibilityBatchResultEntry { "Id" => id }
    BatchResultErrorEntry {
        "Id" => id,
        "SenderFault" => sender_fault,
        "Code" => code,
        "Message" => message,
    }
    ListMessageMoveTasksResultEntry {
        "TaskHandle" => task_handle,
        "Status" => status,
        "SourceArn" => source_arn,
        "DestinationArn" => destination_arn,
        "MaxNumberOfMessagesPerSecond" => max_number_of_messages_per_second,
        "ApproximateNumberOfMessagesMoved" => approximate_number_of_messages_moved,
        "ApproximateNumberOfMessagesToMove" => approximate_number_of_messages_to_move,
        "FailureReason" => failure_reason,
        "StartedTimestamp" => started_timestamp,
    }
}
