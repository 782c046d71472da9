import { chat } from './chat.ts';
import { embed } from './embed.ts';
import type { Kind } from './kind.ts';

/** The operations that callers can request from models, by name. A scope and the records have the same names. */
export const OPERATIONS = { chat, embed } as const satisfies Readonly<Record<string, Kind>>;

export type Operation = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];

/** Makes a table with a value for each operation. */
export const byOperation = <Value>(make: (operation: Operation) => Value): Readonly<Record<Operation, Value>> =>
  Object.fromEntries(OPERATION_NAMES.map((name) => [name, make(name)])) as Record<Operation, Value>;

/** Whether requests of an operation are conversations, so that they have an intent and are answered with text. */
export const isConversation = (operation: Operation): boolean => OPERATIONS[operation].input === 'conversation';

/** @returns whether a model answers conversations */
export const servesChats = ({ operations }: { readonly operations: number }): boolean =>
  (operations & OPERATIONS.chat.bit) !== 0;

/** @returns the names of the operations that bits contain */
export const operationsIn = (bits: number): readonly Operation[] =>
  OPERATION_NAMES.filter((name) => (bits & OPERATIONS[name].bit) !== 0);

/** @returns the bits of a list of operations */
export const operationBits = (names: readonly Operation[]): number =>
  names.reduce((bits, name) => bits | OPERATIONS[name].bit, 0);
