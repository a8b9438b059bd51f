// Batch processing by Powertools as its documentation has it; what is done stands in the file SEEN.
import { appendFileSync } from 'node:fs';
import {
  BatchProcessor,
  EventType,
  SqsFifoPartialProcessorAsync,
  processPartialResponse,
} from '@aws-lambda-powertools/batch';

const standard = new BatchProcessor(EventType.SQS);
const fifo = new SqsFifoPartialProcessorAsync();
const fifoByGroup = new SqsFifoPartialProcessorAsync();

async function work(record) {
  const order = JSON.parse(record.body);
  const first = record.attributes.ApproximateReceiveCount === '1';
  if (order.do === 'fail' || (order.do === 'fail-once' && first)) throw new Error('no such order');
  appendFileSync(process.env.SEEN, `${JSON.stringify({ done: order.name })}\n`);
}

export const handler = (event, context) => processPartialResponse(event, work, standard, { context });

export const fifo_handler = (event, context) => processPartialResponse(event, work, fifo, { context });

export const group_handler = (event, context) =>
  processPartialResponse(event, work, fifoByGroup, { context, skipGroupOnError: true });
