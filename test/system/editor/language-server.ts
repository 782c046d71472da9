import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const SERVER = join(import.meta.dir, '../node_modules/yaml-language-server/bin/yaml-language-server');
/** Longest wait for an answer, ms. */
const ANSWER_MS = 10_000;

/** A position in a file; line and character count from 0. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Problem {
  readonly range: { readonly start: Position };
  readonly message: string;
}

export interface Offer {
  readonly label: string;
  readonly insertText?: string;
  readonly textEdit?: { readonly newText: string };
  readonly documentation?: string | { readonly value: string };
}

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Settings that an editor sends: no schemas from the network, and lines as long as ours. */
const SETTINGS = {
  yaml: {
    validate: true,
    hover: true,
    completion: true,
    format: { enable: true, printWidth: 120 },
    schemaStore: { enable: false },
    kubernetesCRDStore: { enable: false },
  },
};

/** The real YAML language server, as an editor runs it: a process with JSON-RPC. */
export class LanguageServer {
  readonly #child = Bun.spawn([process.execPath, SERVER, '--stdio'], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
  });
  readonly #waiting = new Map<number, { done(result: unknown): void; failed(error: Error): void }>();
  readonly #problems = new Map<string, (problems: readonly Problem[]) => void>();
  #last = 0;

  constructor() {
    void this.#read();
  }

  async start(folder: string): Promise<void> {
    await this.#ask('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: {
        workspace: { configuration: true, didChangeConfiguration: { dynamicRegistration: true } },
        textDocument: {
          completion: { completionItem: { snippetSupport: true, documentationFormat: ['markdown', 'plaintext'] } },
          hover: { contentFormat: ['markdown'] },
          publishDiagnostics: {},
          formatting: {},
        },
      },
    });
    this.#tell('initialized', {});
    this.#tell('workspace/didChangeConfiguration', { settings: SETTINGS });
  }

  /** Opens a file with this text, whatever the disk contains. */
  show(path: string, text: string): void {
    const uri = pathToFileURL(path).href;
    this.#tell('textDocument/didOpen', { textDocument: { uri, languageId: 'yaml', version: 1, text } });
  }

  /** Opens a file and returns its problems. */
  async open(path: string, text: string): Promise<readonly Problem[]> {
    const uri = pathToFileURL(path).href;
    const { promise, resolve, reject } = Promise.withResolvers<readonly Problem[]>();
    const timer = setTimeout(() => reject(new Error(`nothing was said of ${path}`)), ANSWER_MS);
    this.#problems.set(uri, resolve);
    this.show(path, text);
    return promise.finally(() => clearTimeout(timer));
  }

  async completions(path: string, position: Position): Promise<readonly Offer[]> {
    const result = await this.#ask('textDocument/completion', at(path, position));
    return isObject(result) && Array.isArray(result.items) ? result.items : [];
  }

  /** Returns the Markdown of a hover; empty if there is none. */
  async hover(path: string, position: Position): Promise<string> {
    const result = await this.#ask('textDocument/hover', at(path, position));
    const contents = isObject(result) ? result.contents : null;
    return isObject(contents) && typeof contents.value === 'string' ? contents.value : '';
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#child.exited;
  }

  async #ask(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#last;
    const { promise, resolve: done, reject: failed } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => failed(new Error(`${method} was not answered`)), ANSWER_MS);
    this.#waiting.set(id, { done, failed });
    this.#send({ id, method, params });
    return promise.finally(() => clearTimeout(timer));
  }

  #tell(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  #send(message: Message): void {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.#child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.#child.stdin.write(body);
    this.#child.stdin.flush();
  }

  async #read(): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of this.#child.stdout) {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const head = rest.indexOf('\r\n\r\n');
        const length = head < 0 ? null : /Content-Length: (\d+)/i.exec(rest.toString('latin1', 0, head))?.[1];
        if (!length) break;
        const end = head + 4 + Number(length);
        if (rest.length < end) break;
        this.#take(JSON.parse(rest.toString('utf8', head + 4, end)));
        rest = rest.subarray(end);
      }
    }
  }

  #take(message: Message): void {
    const { id, method, params } = message;
    if (method === 'textDocument/publishDiagnostics') {
      const { uri, diagnostics } = params as { uri: string; diagnostics: readonly Problem[] };
      this.#problems.get(uri)?.(diagnostics);
    } else if (method !== undefined && id !== undefined) {
      this.#send({ id, result: method === 'workspace/configuration' ? this.#configuration(params) : null });
    } else if (typeof id === 'number') {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (message.error) waiting?.failed(new Error(message.error.message));
      else waiting?.done(message.result);
    }
  }

  /** Returns an answer for each requested section. */
  #configuration(params: unknown): unknown[] {
    const items: unknown[] = isObject(params) && Array.isArray(params.items) ? params.items : [];
    return items.map((item) => (isObject(item) && item.section === 'yaml' ? SETTINGS.yaml : null));
  }
}

const at = (path: string, position?: Position) => ({
  textDocument: { uri: pathToFileURL(path).href },
  ...(position && { position }),
});

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
