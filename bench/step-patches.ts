/** An edit of one file of `src/`. The text to replace must occur once in the file. */
export interface Patch {
  /** The path from the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A patched server, which answers at once at a point of the request path, or leaves one thing out. */
export interface Cut {
  readonly kind: 'up to' | 'without';
  readonly name: string;
  readonly patches: readonly Patch[];
}

const APP = 'src/http/app.ts';
const EDGE = 'src/http/surface-routes.ts';
const PIPELINE = 'src/gateway/request/pipeline.ts';

const after = (file: string, find: string, more: string): Patch => ({ file, find, replace: `${find}\n${more}` });
const before = (file: string, find: string, more: string): Patch => ({ file, find, replace: `${more}\n${find}` });
const insteadOf = (file: string, find: string, replace: string): Patch => ({ file, find, replace });

const EMPTY = "new Response('{}', { headers: { 'content-type': 'application/json' } })";
const CONSTANT = `return ${EMPTY};`;
/** The line after which a request has been decided. */
const GIVEN = '    const reservedAt = clock();';
/**
 * Returns the patches with which the request ends in the middle of the pipeline. The stopping value is returned to the code that would
 * write the answer.
 */
const stopAt = (patch: Patch): readonly Patch[] => [
  patch,
  before(PIPELINE, '  return deciding instanceof Promise', '  if (deciding.isStopped) return deciding;'),
  before(PIPELINE, GIVEN, '    if (decided.isStopped) return decided;'),
  before(EDGE, '  // (guards on the answer: each wraps `running`)', "  if (running.isStopped) return '{}';"),
];

/** An intent that takes no time to read. */
const ANY_INTENT =
  "{ task: 'general', mix: EMPTY, difficulty: 'usual', naturalLanguage: 'en', languagesSeen: EMPTY, output: UNREAD.output }";

/** The body of `bench/upstream.ts` within the process. */
const IN_PROCESS = `
const BODY = new TextEncoder().encode(JSON.stringify({
  id: 'chatcmpl-bench', object: 'chat.completion', created: 1_790_000_000, model: 'bench-model-upstream',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(100).trim(), refusal: null },
    logprobs: null, finish_reason: 'stop' }],
  usage: { prompt_tokens: 50, completion_tokens: 100, total_tokens: 150 },
}));
const HEADERS = new Headers({ 'content-type': 'application/json' });
function replyAtOnce() {
  let rest = BODY;
  const read = () => { const next = rest; rest = null; return next; };
  const reply = { status: 200, headers: HEADERS, header: (name) => HEADERS.get(name), read, cancel() {} };
  return { reply: () => reply, abort() {} };
}`;

/** The cuts in the order of the request path. The last of the cuts that go `up to` a point contains everything. */
export const CUTS: readonly Cut[] = [
  {
    kind: 'up to',
    name: 'a constant answer: Bun and Elysia',
    patches: [after(APP, '.onRequest(({ request, set }) => {', `if (request.method === 'POST') ${CONSTANT}`)],
  },
  {
    kind: 'up to',
    name: 'admitted, with log line and metrics',
    patches: [
      insteadOf(
        APP,
        '          if (!admission) context.addLimitHeaders(set.headers);',
        `if (!admission) context.addLimitHeaders(set.headers);
          if (request.method === 'POST') { context.handled(200, null); early = ${EMPTY}; }`,
      ),
    ],
  },
  {
    kind: 'up to',
    name: 'body read and checked, payer known',
    patches: [after(EDGE, '  const funding = found instanceof Promise ? await found : found;', "  return '{}';")],
  },
  {
    kind: 'up to',
    name: 'profiled',
    patches: stopAt(
      after(
        'src/gateway/request/decide.ts',
        '  let reading = readRequest(undecided, fit, false);',
        '  return { isStopped: true };',
      ),
    ),
  },
  {
    kind: 'up to',
    name: 'decided among twelve models',
    patches: stopAt(before(PIPELINE, GIVEN, '    return { isStopped: true };')),
  },
  {
    kind: 'up to',
    name: 'money reserved and settled',
    patches: stopAt(
      before(
        PIPELINE,
        '    const exchange = new Exchange(',
        '    hold.hold.settle(null, () => []); context.endWork(0); return { isStopped: true };',
      ),
    ),
  },
  {
    kind: 'up to',
    name: 'the provider asked, its answer read and sent, recorded: everything',
    patches: [],
  },
  {
    kind: 'without',
    name: 'the profile',
    patches: [
      insteadOf(
        'src/routing/facts.ts',
        'isRead ? readIntent(request, reader) : UNREAD',
        `isRead ? ${ANY_INTENT} : UNREAD`,
      ),
    ],
  },
  {
    kind: 'without',
    name: 'the record',
    patches: [insteadOf('src/gateway/request/decision-record.ts', '  records.add(', '  false && records.add(')],
  },
  {
    kind: 'without',
    name: 'log line and metrics',
    patches: [
      insteadOf(
        'src/gateway/request/observe/observer.ts',
        'if (this.#ended.push(request) === 1) setImmediate(this.#reportEnded);',
        '',
      ),
    ],
  },
  {
    kind: 'without',
    name: 'the ledger’s writes',
    patches: [
      insteadOf(
        'src/store/sqlite/books/books.ts',
        'const committed = this.#store.commit(batch.writes);',
        'const committed = Promise.resolve();',
      ),
      insteadOf(
        'src/store/sqlite/books/books.ts',
        'if (batch.writes.length > 0) this.#store.append(batch.writes);',
        '',
      ),
    ],
  },
  {
    kind: 'without',
    name: 'the provider’s connection',
    patches: [
      before('src/providers/http1/connection-pool.ts', '/** The URL of a path below a base. */', IN_PROCESS),
      after(
        'src/providers/http1/connection-pool.ts',
        '  post(path: string, request: Post): PendingReply {',
        '    request.onConnected(); return replyAtOnce();',
      ),
    ],
  },
];
