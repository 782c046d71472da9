import { Gate } from '../../src/access/limits/gate.ts';
import { SignIn } from '../../src/access/sign-in/sign-in.ts';
import { Tokens } from '../../src/access/tokens/tokens.ts';
import { GuardHealth } from '../../src/gateway/guards/guard-health.ts';
import type { Gateway } from '../../src/gateway/request/gateway.ts';
import { Observer } from '../../src/gateway/request/observe/observer.ts';
import type { Log } from '../../src/host/telemetry/log.ts';
import { EventFeed } from '../../src/http/event-feed.ts';

/** Token authentication without any issuer, for tests that use only keys. */
export const noTokens = (log: Log) =>
  new Tokens({
    ...{ log, clock: () => performance.now(), now: Date.now, secret: new Uint8Array(32) },
    teams: { idOf: () => null, has: () => false },
    blocksAge: () => 0,
    onSubject() {},
  });

/** A part of the server that these tests never call. */
const unasked = (): never => Object.create(null) as never;

const noLogins = {
  logins: { list: () => [], end: async () => false },
  people: { user: () => null, team: () => null },
  keys: { known: () => null, lives: () => false },
};

/** The parts of an app without log, metrics, traces or sign-in. */
export const unobserved = ({ log, clock, nextId }: Gateway) => ({
  tokens: noTokens(log),
  observer: new Observer({
    trace: null,
    reporters: [],
    workReporters: [],
    log,
    clock,
    nextId,
    written: async () => {},
  }),
  gate: new Gate(() => performance.now()),
  signIn: new SignIn({
    policy: () => ({ signIn: null, console: { enabled: true, traceUrl: null } }),
    env: () => undefined,
    logins: unasked(),
    people: unasked(),
    keys: unasked(),
    now: Date.now,
    log,
  }),
  logins: noLogins,
  desk: unasked(),
  socketBytesMax: 1_048_576,
  metrics: null,
  feed: new EventFeed(Date.now),
  alerts: { list: async () => [], test: async () => [] },
  audits: unasked(),
  doctor: unasked(),
  status: {
    health: { samples: () => [] },
    guardHealth: new GuardHealth(),
    outcomes: () => Promise.reject(new Error('no learning here')),
    instance: () => {
      throw new Error('these tests do not call this part');
    },
    cluster: () => Promise.reject(new Error('no cluster here')),
  },
});
