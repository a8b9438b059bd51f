#!/usr/bin/perl

# Makes SQS calls with Amazon::SQS::Simple; lines in and out as sdk_clients.py says. Each call is a
# process of its own, because a long poll would hold up the others.
#
# Options of the methods pass through to the service, so that each parameter can be said by its name in
# the query protocol, but for what needs escaping: the module escapes bodies and handles only.

use strict;
use warnings;
use Amazon::SQS::Simple;
use Encode qw(decode_utf8);
use Fcntl qw(:flock);
use JSON::PP;
use LWP::Protocol::http; # loaded once, not by each call
use XML::Simple qw(XMLin);

my $json = JSON::PP->new->utf8->canonical;

sub say_line {
    my ($line) = @_;
    my $text = $json->encode($line) . "\n";
    open my $lock, '<', $0 or die "$0: $!";
    flock $lock, LOCK_EX;
    while (length $text) {
        my $sent = syswrite STDOUT, $text;
        die "stdout: $!" unless defined $sent;
        substr($text, 0, $sent) = '';
    }
}

sub lacks { die {lacks => $_[0]} }

sub service {
    my ($endpoint) = @_;
    return Amazon::SQS::Simple->new('test', 'test', Endpoint => "$endpoint/");
}

# The members as options of a method.
sub options {
    my ($action, $members, @known) = @_;
    my %known = map { $_ => 1 } @known;
    my %options;
    for my $name (sort keys %$members) {
        lacks("$action.$name") unless $known{$name};
        my $value = $members->{$name};
        (my $singular = $name) =~ s/s$//;
        if (ref $value eq 'ARRAY') {
            my $n = 0;
            $options{"$singular." . ++$n} = $_ for @$value;
        } elsif (ref $value eq 'HASH') {
            my $n = 0;
            %options = (%options, numbered("$singular." . ++$n, $_, $value->{$_})) for sort keys %$value;
        } else {
            $options{$name} = $value;
        }
    }
    for my $text (values %options) {
        lacks("$action with what needs escaping") if $text =~ /[^\x20-\x7e]|[&%+]/;
    }
    return %options;
}

sub numbered {
    my ($prefix, $name, $value) = @_;
    return ("$prefix.Name" => $name, "$prefix.Value" => $value) unless ref $value;
    my %parts = map {
        my $part = $value->{$_};
        ("$prefix.Value.$_" => ref $part ? $part->{'$bytes'} : $part);
    } keys %$value;
    return ("$prefix.Name" => $name, %parts);
}

sub list { return ref $_[0] eq 'ARRAY' ? @{$_[0]} : defined $_[0] ? ($_[0]) : () }

# A message has methods for the four oldest of its parts; the others are there under their names.
sub message {
    my ($message) = @_;
    my %attributes = map { $_->{Name} => $_->{Value} } list($message->{Attribute});
    my %message_attributes;
    for (list($message->{MessageAttribute})) {
        my %value = %{$_->{Value}};
        $value{BinaryValue} = {'$bytes' => $value{BinaryValue}} if exists $value{BinaryValue};
        $message_attributes{$_->{Name}} = \%value;
    }
    return {
        MessageId => $message->MessageId, ReceiptHandle => $message->ReceiptHandle,
        MD5OfBody => $message->MD5OfBody, Body => $message->MessageBody, Attributes => \%attributes,
        MessageAttributes => \%message_attributes,
        MD5OfMessageAttributes => $message->{MD5OfMessageAttributes},
    };
}

my %calls = (
    CreateQueue => sub {
        my ($sqs, $members) = @_;
        my $name = delete $members->{QueueName};
        lacks('CreateQueue with what needs escaping') if $name =~ /[^\x20-\x7e]|[&%+]/;
        my $queue = $sqs->CreateQueue($name, options('CreateQueue', $members, 'Attributes'));
        return {QueueUrl => $queue->Endpoint};
    },
    ListQueues => sub {
        my ($sqs, $members) = @_;
        my $queues = $sqs->ListQueues(options('ListQueues', $members, 'QueueNamePrefix'));
        return {QueueUrls => [map { $_->Endpoint } @{$queues || []}]};
    },
);

my %calls_of_a_queue = (
    DeleteQueue => sub { $_[0]->Delete; return {} },
    PurgeQueue => sub { $_[0]->Purge; return {} },
    SendMessage => sub {
        my ($queue, $members) = @_;
        my $body = delete $members->{MessageBody};
        lacks('SendMessage.MessageBody with U+FFFF') if $body =~ /\x{ffff}/;
        my @known = qw(DelaySeconds MessageGroupId MessageDeduplicationId MessageAttributes);
        my $sent = $queue->SendMessage($body, options('SendMessage', $members, @known));
        my %others = map { $_ => $sent->{$_} } qw(SequenceNumber MD5OfMessageAttributes);
        return {MessageId => $sent->MessageId, MD5OfMessageBody => $sent->MD5OfMessageBody, %others};
    },
    ReceiveMessage => sub {
        my ($queue, $members) = @_;
        $members->{AttributeNames} = delete $members->{SystemAttributeNames}
            if $members->{SystemAttributeNames};
        my @known = qw(MaxNumberOfMessages VisibilityTimeout WaitTimeSeconds AttributeNames
            MessageAttributeNames ReceiveRequestAttemptId);
        my @messages = $queue->ReceiveMessage(options('ReceiveMessage', $members, @known));
        return {Messages => [map { message($_) } @messages]};
    },
    DeleteMessage => sub { $_[0]->DeleteMessage($_[1]{ReceiptHandle}); return {} },
    ChangeMessageVisibility => sub {
        my ($queue, $members) = @_;
        $queue->ChangeMessageVisibility($members->{ReceiptHandle}, $members->{VisibilityTimeout});
        return {};
    },
    GetQueueAttributes => sub {
        my ($queue, $members) = @_;
        my @names = @{$members->{AttributeNames} || []};
        return {Attributes => $queue->GetAttributes(AttributeName => $names[0])} if @names == 1;
        my $all = $queue->GetAttributes;
        return {Attributes => {map { exists $all->{$_} ? ($_ => $all->{$_}) : () } @names}};
    },
    SetQueueAttributes => sub {
        my ($queue, $members) = @_;
        my %attributes = %{$members->{Attributes}};
        $queue->SetAttribute($_, $attributes{$_}) for sort keys %attributes; # one a call is all
        return {};
    },
    AddPermission => sub {
        my ($queue, $members) = @_;
        my %actions = map { $_ => $members->{Actions} } @{$members->{AWSAccountIds}};
        $queue->AddPermission($members->{Label}, \%actions);
        return {};
    },
    RemovePermission => sub { $_[0]->RemovePermission($_[1]{Label}); return {} },
);

# What a program that catches the exception can see: the text of the answer.
sub shown {
    my ($text) = @_;
    my ($status) = $text =~ /^Got an error: HTTP\S* (\d+)/ or return;
    my ($code) = $text =~ m{<Code>(.*?)</Code>};
    my ($message) = $text =~ m{<Message>(.*?)</Message>}s;
    return {status => $status + 0, code => $code, message => $message};
}

sub answer {
    my ($request) = @_;
    my ($action, $members) = @$request{qw(action members)};
    my $output = eval {
        my $sqs = service($request->{endpoint});
        if (my $call = $calls{$action}) {
            $call->($sqs, $members);
        } elsif ($call = $calls_of_a_queue{$action}) {
            $call->($sqs->GetQueue(delete $members->{QueueUrl}), $members);
        } else {
            lacks($action);
        }
    };
    return {output => $output} if $output;
    return $@ if ref $@;
    return {lacks => "ChangeMessageVisibility out of range"} if $@ =~ /in range 0\.\.43200/;
    my $error = shown($@);
    return $error ? {error => $error} : {broken => "$@"};
}

$SIG{CHLD} = 'IGNORE';
XMLin('<parser><is>loaded</is></parser>');
say_line({client => "Amazon::SQS::Simple $Amazon::SQS::Simple::VERSION"});
while (my $line = <STDIN>) {
    my $request = $json->decode($line);
    next if fork;
    say_line({id => $request->{id}, %{answer($request)}});
    exit 0;
}
