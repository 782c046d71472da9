import type { World } from '../store/hostile/world.ts';
import { type Signalbox, type StartOptions, startSignalbox } from './signalbox.ts';

/** Several servers inside the test process. Each is a complete application with its own handle on the shared store. */
export interface Fleet extends Pick<Signalbox, 'url' | 'key' | 'post' | 'get'> {
  readonly world: World;
  readonly instances: readonly Signalbox[];
  /** Creates a key through the admin API and waits until all servers accept it. */
  makeKey(terms?: object): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts this many applications on a shared store, and a front that sends each request to the next application, as a load balancer does.
 * Each application has its own data folder.
 */
export async function startFleet(world: World, count: number, options: StartOptions = {}): Promise<Fleet> {
  const first = await startOver(world, 'a', options);
  const env = { ...options.env, SIGNALBOX_API_KEY: first.key };
  const instances = [first];
  while (instances.length < count) {
    instances.push(await startOver(world, String.fromCharCode(97 + instances.length), { ...options, env }));
  }
  let turn = 0;
  const next = () => instances[turn++ % count]!;
  const front = frontOf(() => next().url);
  return {
    world,
    instances,
    url: front.url,
    key: first.key,
    post: (path, body, init) => next().post(path, body, init),
    get: (path, init) => next().get(path, init),
    async makeKey(terms = {}) {
      const made = await next().post('/admin/keys', { name: 'app', scopes: ['chat'], ...terms });
      const { key } = (await made.json()) as { key?: string };
      if (key === undefined) throw new Error(`no key was made: ${made.status}`);
      await Promise.all(instances.map((one) => admitted(one, key)));
      return key;
    },
    async stop() {
      await Promise.all(instances.map((one) => one.stop()));
      await front.stop();
    },
  };
}

/** Starts an application on a shared store, as an instance with this name. */
export const startOver = (world: World, name: string, options: StartOptions = {}): Promise<Signalbox> =>
  startSignalbox({ ...options, openStore: async () => world.open(name) });

/** How long an instance may take to learn of a new key, ms: four times the second that we promise. */
const HEARD_MS = 4_000;

async function admitted(box: Signalbox, key: string): Promise<void> {
  const until = performance.now() + HEARD_MS;
  for (;;) {
    const { status } = await box.get('/v1/models', { headers: { authorization: `Bearer ${key}` } });
    if (status === 200) return;
    if (performance.now() > until) throw new Error(`a key was not admitted within ${HEARD_MS} ms: ${status}`);
    // The server limits guesses of keys, so this loop must pause.
    await Bun.sleep(200);
  }
}

/** A load balancer: passes each request to the address that `next` returns, and streams its answer back. */
function frontOf(next: () => string) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: (request) => {
      const { pathname, search } = new URL(request.url);
      return fetch(next() + pathname + search, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        signal: request.signal,
        redirect: 'manual',
        decompress: false,
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}
