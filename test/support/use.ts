import { afterAll, beforeAll, expect } from 'bun:test';
import { type FakeOptions, type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import { type LiveOptions, type LivePolicy, startLivePolicy } from './live-policy.ts';
import { UPSTREAM_ENV, UPSTREAM_KEY } from './policies.ts';
import { type Signalbox, type StartOptions, startSignalbox } from './signalbox.ts';

/** Servers for all tests of a file, or of a `describe` that calls these at its top; they stop after the last test. */

/** Starts a provider at once. The provider expects `UPSTREAM_KEY` unless the options set another key. */
export function useUpstream(options: FakeOptions = {}): FakeUpstream {
  const upstream = startFakeUpstream({ key: UPSTREAM_KEY, ...options });
  afterAll(() => upstream.stop());
  return upstream;
}

/** Starts a gateway before the first test, with the keys of all `useUpstream` providers in its environment. */
export const useSignalbox = (options: StartOptions | (() => StartOptions) = {}): Signalbox =>
  useStarted(() => {
    const { env, ...more } = typeof options === 'function' ? options() : options;
    return startSignalbox({ ...more, env: { ...UPSTREAM_ENV, ...env } });
  });

/**
 * Returns a function that returns the gateway with a policy. The first call for a policy starts the gateway, and later calls in the file share
 * it, so tests that depend on its state need a policy of their own. After the last test, the audit of each gateway must find nothing wrong.
 */
export function useGateways(env: Readonly<Record<string, string>> = {}): (policy: string) => Promise<Signalbox> {
  const gateways = new Map<string, Promise<Signalbox>>();
  afterAll(async () => {
    for (const started of gateways.values()) {
      const gateway = await started;
      expect(await gateway.run('ledger', 'audit')).toMatchObject({ code: 0 });
      await gateway.stop();
    }
  });
  return (policy) =>
    gateways.getOrInsertComputed(policy, () => startSignalbox({ policy, env: { ...UPSTREAM_ENV, ...env } }));
}

/** Starts a gateway before the first test, with a policy that tests edit. */
export const useLivePolicy = (files: () => Readonly<Record<string, string>>, options: LiveOptions = {}): LivePolicy =>
  useStarted(() => startLivePolicy(files(), options));

/** Returns the server that `start` creates before the first test; its properties can be read from that moment. */
export function useStarted<T extends { stop(): Promise<unknown> }>(start: () => Promise<T>): T {
  let started: T | undefined;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(() => started?.stop());
  return new Proxy<T>(Object.create(null), {
    get: (_, name) => {
      if (!started) throw new Error('it starts before the first test');
      return Reflect.get(started, name);
    },
  });
}
