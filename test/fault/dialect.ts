/** Tokens, as an upstream counts them. */
export interface Tokens {
  readonly prompt: number;
  readonly output: number;
}

/** The JSON object of an event of a stream. */
export type Event = Readonly<Record<string, unknown>>;

/** A tool, and the JSON text of the arguments of a call. */
export interface ToolText {
  readonly name: string;
  readonly arguments: string;
}

/** A complete tool call; a call without its index and ID; or a call without the name of its tool. */
export type CallForm = 'whole' | 'untidy' | 'nameless';

/** The parts from which faults of one dialect are built. A usage of null is not reported. */
export interface Dialect {
  readonly name: 'openai' | 'anthropic' | 'gemini' | 'responses';
  /** The adapter that speaks the dialect. */
  readonly adapter: string;
  /** For an adapter with several dialects: the models, and requests with a tool, for which it uses this one. */
  readonly model?: {
    /** How the provider's name of the model begins. */
    readonly upstream: string;
    readonly capabilities: readonly string[];
    /** The name of the tool. */
    readonly tool: string;
  };
  /** The path of the base URL. */
  readonly base: string;
  /** The path of a request, below the base URL. */
  path(upstream: string, stream: boolean): string;
  readonly auth: { readonly header: string; readonly prefix: string };

  /** Changes an event for a stream, if a stream has it in another form. */
  readonly inStream?: (event: Event) => Event;
  /** Returns the same dialect for one stream, whose events it counts. */
  ofOneStream?(): Dialect;
  /** The `event:` field of an event; empty if it has none. */
  nameOf(event: Event): string;
  /** The events before the text of an answer; may be empty. */
  opening(usage: Tokens | null): readonly Event[];
  /**
   * The events for a piece of the text.
   * @param running the tokens so far
   */
  word(text: string, running: Tokens | null): readonly Event[];
  /** When a stream reports usage: only at its end, the prompt also at its start, or running counts with every piece. */
  readonly counts: 'at its end' | 'from its start' | 'all along';
  /**
   * The events at the end of the text, with reason and usage. Some dialects repeat the text in the last events of a stream; by default it
   * is the usual text.
   */
  finish(reason: 'stop' | 'length', usage: Tokens | null, text?: string): readonly Event[];
  /** The events that report the usage once more. */
  report(usage: Tokens): readonly Event[];
  /** The end mark of a stream; empty if there is none. */
  readonly end: string;

  /**
   * A JSON answer.
   * @param isEnded false to omit the finish reason
   */
  reply(text: string, usage: Tokens | null, isEnded?: boolean): string;
  /** A JSON answer that repeats its finish reason. */
  replyEndedTwice(text: string, usage: Tokens): string;
  /** The member of an answer that reports its usage. */
  counted(usage: Tokens): Event;
  /** The events of a complete call of this tool. */
  callEvents(tool: ToolText, form: CallForm, usage: Tokens): readonly Event[];
  callReply(tool: ToolText, form: CallForm, usage: Tokens): string;
  /** The events of an answer with usage only. */
  emptyEvents(usage: Tokens): readonly Event[];
  emptyReply(usage: Tokens): string;

  /** The body of an error with this status. */
  error(status: number, message: string): Event;
  /** An error in an unusual form. */
  oddError(message: string): unknown;
  /** The body of the 400 for a prompt that is too long. */
  tooLong(message: string): Event;
  /** The answer to an invalid key. */
  refusedKey(message: string): { readonly status: number; readonly body: Event };
  /** A 429 with a wait in seconds. */
  pause(seconds: number): { readonly headers: Readonly<Record<string, string>>; readonly body: Event };
}
