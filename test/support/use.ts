import { afterAll, beforeAll } from 'bun:test';
import { type FakeOptions, type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import { UPSTREAM_ENV, UPSTREAM_KEY } from './policies.ts';
import { type Signalbox, type StartOptions, startSignalbox } from './signalbox.ts';

/** Servers for all tests of a file, or of a `describe` that calls these at its top; they stop after the last test. */

/** Starts a provider at once. It asks for `UPSTREAM_KEY` unless the options say otherwise. */
export function useUpstream(options: FakeOptions = {}): FakeUpstream {
  const upstream = startFakeUpstream({ key: UPSTREAM_KEY, ...options });
  afterAll(() => upstream.stop());
  return upstream;
}

/** Starts a gateway before the first test, with the keys of the providers of `useUpstream` in its environment. */
export function useSignalbox(options: StartOptions | (() => StartOptions) = {}): Signalbox {
  let box: Signalbox;
  beforeAll(async () => {
    const { env, ...more } = typeof options === 'function' ? options() : options;
    box = await startSignalbox({ ...more, env: { ...UPSTREAM_ENV, ...env } });
  }, 30_000);
  afterAll(() => box?.stop());
  return {
    get url() {
      return box.url;
    },
    get key() {
      return box.key;
    },
    get data() {
      return box.data;
    },
    get pid() {
      return box.pid;
    },
    get lines() {
      return box.lines;
    },
    get errors() {
      return box.errors;
    },
    get exited() {
      return box.exited;
    },
    post: (path, body, init) => box.post(path, body, init),
    get: (path, init) => box.get(path, init),
    run: (...args) => box.run(...args),
    signal: (name) => box.signal(name),
    stop: () => box.stop(),
  };
}
