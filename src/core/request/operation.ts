/**
 * The operations that callers can request from models, as bits: a model is eligible if it has the bit of the request's operation.
 * CONTRIBUTING lists the other places in the code to change for a new operation.
 */
export const OPERATIONS = {
  chat: { bit: 1 << 0, means: 'answers a conversation' },
  embed: { bit: 1 << 1, means: 'turns texts into vectors' },
} as const;

export type Operation = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];

/** @returns whether a model answers conversations */
export const servesChats = ({ operations }: { readonly operations: number }): boolean =>
  (operations & OPERATIONS.chat.bit) !== 0;

/** @returns the bits of a list of operations */
export const operationBits = (names: readonly Operation[]): number =>
  names.reduce((bits, name) => bits | OPERATIONS[name].bit, 0);
