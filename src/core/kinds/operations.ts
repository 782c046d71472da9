/** The properties of an operation that several layers need. */
interface Kind {
  /** The bit of the operation. A model is eligible if it has the bit of the request's operation. */
  readonly bit: number;
  /** The ability of a model that serves the operation, as in `the model answers a conversation`. */
  readonly means: string;
  /** The name of the service for callers, as in `Signalbox serves embeddings at …`. */
  readonly serves: string;
  /** What a key with the scope of the operation may do, as in `embed: request embeddings`. */
  readonly permits: string;
  /** One answer, as in `the payer pays for a chat completion`. */
  readonly answer: string;
  /**
   * The content of a request. `conversation`: Signalbox reads its intent, and the answer is a text of unknown length. `texts`: separate
   * inputs without an intent, and an answer that follows from them and whose length is known.
   */
  readonly input: 'conversation' | 'texts';
  /**
   * The content of an answer. `vectors`: answers of models can only be compared within a vector space, so each of these models belongs to
   * one, and a selector names one.
   */
  readonly output: 'text' | 'vectors';
  /** Whether the scope `chat` includes the scope of this other operation, so that keys which are older than the operation can use it. */
  readonly isInChat: boolean;
}

/** The operations that callers can request from models, by name. A scope and the records have the same names. */
export const OPERATIONS = {
  chat: {
    bit: 1 << 0,
    means: 'answers a conversation',
    serves: 'chat',
    permits: 'send requests to models',
    answer: 'a chat completion',
    input: 'conversation',
    output: 'text',
    isInChat: false,
  },
  embed: {
    bit: 1 << 1,
    means: 'turns texts into vectors',
    serves: 'embeddings',
    permits: 'request embeddings',
    answer: 'embeddings',
    input: 'texts',
    output: 'vectors',
    isInChat: true,
  },
} as const satisfies Readonly<Record<string, Kind>>;

export type Operation = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];

/** Makes a table with a value for each operation. */
export const byOperation = <Value>(make: (operation: Operation) => Value): Readonly<Record<Operation, Value>> =>
  Object.fromEntries(OPERATION_NAMES.map((name) => [name, make(name)])) as Record<Operation, Value>;

/** Whether requests of an operation are conversations, so that they have an intent and are answered with text. */
export const isConversation = (operation: Operation): boolean => OPERATIONS[operation].input === 'conversation';

type TextOperations = {
  readonly [Name in Operation as (typeof OPERATIONS)[Name]['input'] extends 'texts' ? Name : never]: true;
};

/** An operation whose requests are separate texts. */
export type TextOperation = keyof TextOperations;

/** Whether the requests of an operation are separate texts. */
export const isOfTexts = (operation: Operation): operation is TextOperation => !isConversation(operation);

export const TEXT_OPERATIONS: readonly TextOperation[] = OPERATION_NAMES.filter(isOfTexts);

/** Whether an operation makes vectors. */
export const hasVectors = (operation: Operation): boolean => OPERATIONS[operation].output === 'vectors';

/** @returns whether a model answers conversations */
export const servesChats = ({ operations }: { readonly operations: number }): boolean =>
  (operations & OPERATIONS.chat.bit) !== 0;

/** @returns the names of the operations that bits contain */
export const operationsIn = (bits: number): readonly Operation[] =>
  OPERATION_NAMES.filter((name) => (bits & OPERATIONS[name].bit) !== 0);

/** @returns the bits of a list of operations */
export const operationBits = (names: readonly Operation[]): number =>
  names.reduce((bits, name) => bits | OPERATIONS[name].bit, 0);

/** The bits of the operations that make vectors, and of the others. */
export const VECTOR_BITS = operationBits(OPERATION_NAMES.filter(hasVectors));
export const OTHER_BITS = operationBits(OPERATION_NAMES) & ~VECTOR_BITS;
