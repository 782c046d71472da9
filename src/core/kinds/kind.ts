/** An operation that callers can request from models. Every layer reads what differs between operations from here. */
export interface Kind {
  /** The bit of the operation. A model is eligible if it has the bit of the request's operation. */
  readonly bit: number;
  /** What a model that serves the operation does, as in `the model answers a conversation`. */
  readonly means: string;
  /** What callers receive, as in `Signalbox serves embeddings at …`. */
  readonly serves: string;
  /** One answer, as in `the payer pays for a chat completion`. */
  readonly answer: string;
  /**
   * What a request consists of. `conversation`: Signalbox reads its intent, and the answer is a text of unknown length. `texts`: separate
   * inputs without an intent, and an answer that follows from them and whose length is known.
   */
  readonly input: 'conversation' | 'texts';
  /** Whether the scope `chat` includes the scope of the operation, so that keys which are older than the operation can use it. */
  readonly isInChat: boolean;
}
