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

/** How one dialect says what the faults are made of. A usage that is null is not reported. */
export interface Dialect {
  readonly name: 'openai' | 'anthropic' | 'gemini';
  /** The adapter that speaks it. */
  readonly adapter: string;
  /** The path of its base URL. */
  readonly base: string;
  /** Where a model is asked, below the base. */
  path(upstream: string, stream: boolean): string;
  readonly auth: { readonly header: string; readonly prefix: string };

  /** The `event:` of an event; empty for none. */
  nameOf(event: Event): string;
  /** What comes before the text of an answer; nothing where that comes first. */
  opening(usage: Tokens | null): readonly Event[];
  /** A piece of the text. `running`: the tokens so far. */
  word(text: string, running: Tokens | null): readonly Event[];
  /** When a stream tells its usage: at its end, its prompt at once too, or what it is so far with every piece. */
  readonly counts: 'at its end' | 'from its start' | 'all along';
  /** The end of the text, for this reason and with its usage. */
  finish(reason: 'stop' | 'length', usage: Tokens | null): readonly Event[];
  /** The usage once more. */
  report(usage: Tokens): readonly Event[];
  /** The text of what tells that nothing more comes; empty for none. */
  readonly end: string;

  /** An answer in one piece; `isEnded: false` leaves out why it ended. */
  reply(text: string, usage: Tokens | null, isEnded?: boolean): string;
  /** One that says twice why it ended. */
  replyEndedTwice(text: string, usage: Tokens): string;
  /** The member of an answer that reports its usage. */
  counted(usage: Tokens): Event;
  /** A call of this tool, to its end. */
  callEvents(tool: ToolText, form: CallForm, usage: Tokens): readonly Event[];
  callReply(tool: ToolText, form: CallForm, usage: Tokens): string;
  /** Nothing but usage. */
  emptyEvents(usage: Tokens): readonly Event[];
  emptyReply(usage: Tokens): string;

  /** The body of an error of this status. */
  error(status: number, message: string): Event;
  /** An error in a form that is less usual. */
  oddError(message: string): unknown;
  /** The body of the 400 for a prompt that is too long. */
  tooLong(message: string): Event;
  /** How it refuses a key. */
  refusedKey(message: string): { readonly status: number; readonly body: Event };
  /** How its 429 tells for how many seconds it is. */
  pause(seconds: number): { readonly headers: Readonly<Record<string, string>>; readonly body: Event };
}
