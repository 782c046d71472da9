import { afterEach, expect } from 'bun:test';

interface ReceivedEvent {
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client that reads `GET /admin/events`. */
export class EventReader {
  readonly events: ReceivedEvent[] = [];
  readonly stop = new AbortController();
  isOver = false;
  text = '';
  readonly #response: Promise<Response>;

  constructor(url: string, headers: Record<string, string>) {
    this.#response = fetch(`${url}/admin/events`, { headers, signal: this.stop.signal });
  }

  /** Resolves after the stream has begun. */
  async read(): Promise<this> {
    const response = await this.#response;
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    void this.#read(response).catch(() => {});
    return this;
  }

  of(kind: string): ReceivedEvent[] {
    return this.events.filter(({ event }) => event === kind);
  }

  async #read({ body }: Response): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const bytes of body!) {
      const text = decoder.decode(bytes, { stream: true });
      this.text += text;
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/)));
        if (fields.event) this.events.push({ id: fields.id, event: fields.event, data: JSON.parse(fields.data) });
      }
    }
    this.isOver = true;
  }
}

/** Returns a function that opens readers; they disconnect after each test. */
export function useEventReaders(): (url: string, headers: Record<string, string>) => Promise<EventReader> {
  const open = new Set<EventReader>();
  afterEach(() => {
    for (const { stop } of open) stop.abort();
    open.clear();
  });
  return (url, headers) => {
    const reader = new EventReader(url, headers);
    open.add(reader);
    return reader.read();
  };
}
