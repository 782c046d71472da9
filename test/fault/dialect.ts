/** Tokens as an upstream counts them. */
export interface Tokens {
  readonly prompt: number;
  readonly output: number;
}

/** What an event of a stream says: the object that is its JSON. */
export type Event = Readonly<Record<string, unknown>>;

/** A tool and the JSON text that it is called with. */
export interface ToolText {
  readonly name: string;
  readonly arguments: string;
}

/** A tool call as it should be, without what tells it from others, or without the name of its tool. */
export type CallForm = 'whole' | 'untidy' | 'nameless';

/** One dialect's building blocks of faults. A null usage is not reported. */
export interface Dialect {
  readonly name: 'openai' | 'anthropic' | 'gemini' | 'responses';
  /** The adapter that speaks it. */
  readonly adapter: string;
  /** What its adapter speaks it for, where it has another dialect, too: such models, and requests with a tool. */
  readonly model?: {
    /** The begin of the provider's name of the model. */
    readonly upstream: string;
    readonly capabilities: readonly string[];
    /** The name of the tool. */
    readonly tool: string;
  };
  /** The path of its base URL. */
  readonly base: string;
  /** The path of a request, below the base. */
  path(upstream: string, stream: boolean): string;
  readonly auth: { readonly header: string; readonly prefix: string };

  /** An event as it stands in a stream, where that differs. */
  readonly inStream?: (event: Event) => Event;
  /** The same dialect for one stream, whose events it counts. */
  ofOneStream?(): Dialect;
  /** The `event:` of an event; empty for none. */
  nameOf(event: Event): string;
  /** The events before the text of an answer; may be empty. */
  opening(usage: Tokens | null): readonly Event[];
  /** A piece of the text. `running`: the tokens so far. */
  word(text: string, running: Tokens | null): readonly Event[];
  /** When a stream reports usage: at its end, also its prompt at the start, or running counts with every piece. */
  readonly counts: 'at its end' | 'from its start' | 'all along';
  /** The end of the text, with reason and usage. Some repeat the text, which is the usual one if left out. */
  finish(reason: 'stop' | 'length', usage: Tokens | null, text?: string): readonly Event[];
  /** The usage once more. */
  report(usage: Tokens): readonly Event[];
  /** The end mark of a stream; empty for none. */
  readonly end: string;

  /** An unstreamed answer; `isEnded: false` omits the finish reason. */
  reply(text: string, usage: Tokens | null, isEnded?: boolean): string;
  /** One with a repeated finish reason. */
  replyEndedTwice(text: string, usage: Tokens): string;
  /** The member of an answer that reports its usage. */
  counted(usage: Tokens): Event;
  /** A complete call of this tool. */
  callEvents(tool: ToolText, form: CallForm, usage: Tokens): readonly Event[];
  callReply(tool: ToolText, form: CallForm, usage: Tokens): string;
  /** Nothing but usage. */
  emptyEvents(usage: Tokens): readonly Event[];
  emptyReply(usage: Tokens): string;

  /** The body of an error of this status. */
  error(status: number, message: string): Event;
  /** An error in an unusual form. */
  oddError(message: string): unknown;
  /** The body of the 400 for a prompt that is too long. */
  tooLong(message: string): Event;
  /** The refusal of a key. */
  refusedKey(message: string): { readonly status: number; readonly body: Event };
  /** A 429 with a wait in seconds. */
  pause(seconds: number): { readonly headers: Readonly<Record<string, string>>; readonly body: Event };
}
