import { SignalboxError } from '../errors.ts';

/**
 * The error for a history that cannot be found. After this error, clients that have the conversation send the whole conversation, in a new
 * thread.
 */
export const threadNotFound = (why: string): SignalboxError =>
  new SignalboxError(
    'thread_not_found',
    `The history of this thread cannot be found. ${why} Send the whole conversation with \`thread: {"type": "create"}\`.`,
    { param: 'thread.previous_message_id' },
  );

/**
 * The error for a thread if no provider can keep it. After this error, clients that have the conversation send the whole conversation,
 * without a thread.
 */
export const unsupportedThread = (why: string): SignalboxError =>
  new SignalboxError(
    'unsupported_parameter',
    `${why} Send all messages without \`thread\` (in the SDK’s tool runner: \`thread: false\`).`,
    { param: 'thread', details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } },
  );
