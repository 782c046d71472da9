import { describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { openKeys } from '../../src/access/keys.ts';
import { type Logins, openLogins } from '../../src/access/logins.ts';
import { openPeople, type People } from '../../src/access/people.ts';
import { Issuer, IssuerAway } from '../../src/access/sign-in/issuer.ts';
import { SignIn, SignInError } from '../../src/access/sign-in/sign-in.ts';
import type { SignInPolicy } from '../../src/core/policy/sign-in.ts';
import { loginDoor } from '../../src/http/console/login-door.ts';
import type { LoginTable } from '../../src/store/logins.ts';
import { tries } from '../deep/effort.ts';
import { openInMemory } from '../store/implementations.ts';
import {
  history,
  Model,
  type ModelLogin,
  ROLES,
  refusal,
  START,
  Stated,
  type Step,
  type Sub,
} from './login-histories.ts';
import { LOGIN } from './stage.ts';

/**
 * Random histories of logins on two instances that share one store. The issuer may change the claims of people or be unavailable. A model
 * knows for each cookie whom it admits, and with which role.
 */

const BY = { kind: 'server' } as const;

/** What a mutant does differently. */
interface Spoil {
  readonly logins?: (logins: Logins) => Partial<Logins>;
  readonly people?: (people: People) => Partial<People>;
  readonly table?: (table: LoginTable) => Partial<LoginTable>;
  readonly away?: () => Error;
  /** Whether the next sign-in also sends the cookie of the previous login. */
  readonly forgetsBefore?: boolean;
  readonly ignoresPolicy?: boolean;
  /** The instance that does not receive the other's changes. */
  readonly deaf?: 0 | 1;
}

const CONSOLE = { enabled: true, traceUrl: null };
const POLICY: SignInPolicy = {
  ...{ issuer: 'https://id.example', clientId: 'signalbox', clientSecretEnv: null, scopes: ['openid'] },
  roles: (['platform', 'staff'] as const).map((group) => ({
    when: ({ groups }) => (groups as readonly string[]).includes(group),
    role: ROLES[group],
    team: null,
  })),
};

/** Returns an object that replaces some members of another object. */
const over = <T extends object>(one: T, own: Partial<T> = {}): T =>
  new Proxy(one, {
    get(target, name) {
      const value: unknown = name in own ? Reflect.get(own, name) : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(name in own ? own : target) : value;
    },
  });

/** The two instances. The instances receive each other's changes between steps. */
async function stand(spoil: Spoil, clock: { now: number }, stated: Stated, policy: () => SignInPolicy | null) {
  const store = await openInMemory();
  const now = () => clock.now;
  const table = over(store.logins, spoil.table?.(store.logins));
  const shared = over(store as typeof store & { logins: LoginTable }, { logins: table });
  const openOne = async (place: 0 | 1) => {
    const own = place === spoil.deaf ? over(shared, { news: over(store.news, { on: () => () => {} }) }) : shared;
    const opened = [await openLogins({ store: own, now }), await openPeople({ store, now })] as const;
    const logins = over<Logins>(opened[0], spoil.logins?.(opened[0]));
    const people = over(opened[1], spoil.people?.(opened[1]));
    const log = { info() {}, warn() {} };
    const signIn = new SignIn({
      policy: () => ({ signIn: spoil.ignoresPolicy ? POLICY : policy(), console: CONSOLE }),
      env: () => undefined,
      logins,
      people,
      keys: await openKeys({ store, now }),
      now,
      log,
    });
    const door = loginDoor(signIn, () => ({
      signIn: spoil.ignoresPolicy ? POLICY : policy(),
      console: CONSOLE,
      publicUrl: null,
    }));
    return { logins, people, signIn, door, stored: opened };
  };
  const instances = [await openOne(0), await openOne(1)] as const;
  const hear = async () => {
    for (const [place, { stored }] of instances.entries()) {
      if (place !== spoil.deaf) for (const copy of stored) await copy.refresh();
    }
  };
  const close = async () => {
    for (const { stored } of instances) for (const copy of stored) copy.close();
    await store.close();
  };
  return { instances, hear, close, issuer: spied(stated, spoil) };
}

/** Replaces requests to an issuer by the issuer of this test. */
function spied(stated: Stated, { away }: Spoil): Disposable {
  const judged = async <T>(work: () => T): Promise<T> => {
    try {
      return work();
    } catch (cause) {
      throw away && cause instanceof IssuerAway ? away() : cause;
    }
  };
  const spies = [
    spyOn(Issuer.prototype, 'authorizationUrl').mockImplementation(() => judged(() => new URL(POLICY.issuer))),
    spyOn(Issuer.prototype, 'identityBy').mockImplementation((_, url) =>
      judged(() => stated.identity(url.searchParams.get('who') as Sub)),
    ),
    spyOn(Issuer.prototype, 'identityAgain').mockImplementation((_, token) => judged(() => stated.again(token))),
    spyOn(Issuer.prototype, 'check').mockImplementation(() => judged(() => stated.check())),
  ];
  return {
    [Symbol.dispose]() {
      for (const spy of spies) spy.mockRestore();
    },
  };
}

type Stand = Awaited<ReturnType<typeof stand>>;

/** A history with the instances and the model. */
class Run {
  readonly #clock = { now: START };
  readonly #stated = new Stated();
  readonly #model = new Model(this.#clock, this.#stated);
  readonly #spoil: Spoil;
  #stand: Stand | null = null;

  constructor(spoil: Spoil) {
    this.#spoil = spoil;
  }

  /** @returns false if an instance differs from the model */
  async holds(steps: readonly Step[]): Promise<boolean> {
    this.#stand = await stand(this.#spoil, this.#clock, this.#stated, () => (this.#model.isOff ? null : POLICY));
    using _ = this.#stand.issuer;
    try {
      for (const one of steps) {
        if (!(await this.#take(one))) return false;
        await this.#stand.hear();
      }
      // At the end, each cookie is tried on both instances.
      for (const place of [0, 1] as const) {
        for (const login of this.#model.logins) if (!(await this.#use(login, place))) return false;
      }
      return true;
    } finally {
      await this.#stand.close();
    }
  }

  get #instances() {
    if (!this.#stand) throw new Error('the history has not begun');
    return this.#stand.instances;
  }

  async #take(one: Step): Promise<boolean> {
    const model = this.#model;
    switch (one.do) {
      case 'wait':
        this.#clock.now += one.ms;
        return true;
      case 'issuer':
        this.#stated.isAway = !this.#stated.isAway;
        return true;
      case 'policy':
        model.isOff = !model.isOff;
        return true;
      case 'group':
        this.#stated.groups.set(one.sub, one.group);
        return true;
      case 'sign in':
        return this.#signIn(one.sub, one.at, model.logins.at(one.over));
      case 'use':
      case 'sign out': {
        const login = model.logins.at(one.login);
        if (!login) return true;
        return one.do === 'use' ? this.#use(login, one.at) : this.#signOut(login, one.at);
      }
      default:
        return this.#change(one.do, one.sub, one.at);
    }
  }

  async #signIn(who: Sub, place: 0 | 1, before: ModelLogin | undefined): Promise<boolean> {
    const { signIn } = this.#instances[place];
    const model = this.#model;
    const role = ROLES[this.#stated.groups.get(who)!];
    const user = model.users.get(who);
    const isRefused = model.isOff || this.#stated.isAway || role === null || user?.isSuspended === true;
    const loginBefore = this.#spoil.forgetsBefore ? null : (before?.value ?? null);
    const browser = {
      redirectUri: 'http://127.0.0.1/console/sign-in/callback',
      agent: '',
      address: null,
      requestId: '',
    };
    const made = await signIn
      .begin(browser.redirectUri, '/console')
      .then(({ value }) => signIn.finish(`?who=${who}`, value, { ...browser, loginBefore }))
      .catch((cause) => {
        if (cause instanceof SignInError) return null;
        throw cause;
      });
    if (made === null || isRefused) return (made === null) === isRefused;
    if (before && model.lives(before)) before.hasEnded = true;
    const { value } = made;
    const id = made.login.user ?? '';
    const isOther = model.logins.some((one) => one.value === value || (one.user === id && one.sub !== who));
    if (isOther || (user && user.id !== id)) return false;
    const { now } = this.#clock;
    model.users.set(who, { id, role, isSuspended: false });
    model.logins.push({
      ...{ value, sub: who, user: id, createdAt: now, usedAt: now, confirmedAt: now },
      ...{ pausedUntil: 0, hasEnded: false, isRenewable: who !== 'cay' },
    });
    return true;
  }

  async #use(login: ModelLogin, place: 0 | 1): Promise<boolean> {
    const request = new Request('http://127.0.0.1/admin/me', { headers: { cookie: `${LOGIN}=${login.value}` } });
    const found = await this.#instances[place].door.admit(request, false);
    await this.#stand?.hear();
    const role = this.#model.use(login);
    if (found === null || found === 'ended') return role === null;
    return found.role === role && found.user === login.user;
  }

  async #signOut(login: ModelLogin, place: 0 | 1): Promise<boolean> {
    await this.#instances[place].signIn.signOut(login.value, { address: null, requestId: '' });
    login.hasEnded = true;
    return true;
  }

  async #change(what: 'revoke' | 'suspend' | 'resume' | 'delete', who: Sub, place: 0 | 1): Promise<boolean> {
    const { people } = this.#instances[place];
    const user = this.#model.users.get(who);
    if (what === 'revoke') {
      this.#stated.revoke(who);
      for (const one of this.#model.logins) if (one.sub === who) one.isRenewable = false;
    } else if (user && what === 'delete') {
      await people.removeUser(user.id, BY);
      this.#model.users.delete(who);
    } else if (user) {
      await people.suspendUser(user.id, what === 'suspend', BY);
      user.isSuspended = what === 'suspend';
    }
    return true;
  }
}

const lawOf = (spoil: Spoil) => fc.asyncProperty(history, (steps) => new Run(spoil).holds(steps));

const NAME =
  'on every instance, a cookie admits one person with its current role exactly while its login is valid and the person may use it';

test(NAME, async () => {
  await fc.assert(lawOf({}), tries(NAME, 80, 20_000));
});

const FAR = START * 2;

const MUTANTS: Readonly<Record<string, Spoil>> = {
  'does not end a login at a sign-out': { logins: () => ({ end: async () => true }) },
  'keeps the previous login at a sign-in': { forgetsBefore: true },
  'does not learn which logins another instance has ended': { deaf: 1 },
  'serves a suspended user': {
    people: (people) => ({ user: (id) => unless(people.user(id), { suspendedAt: null }) }),
  },
  'serves a deleted user': {
    people: (people) => ({ user: (id) => unless(people.user(id), { removedAt: null, issuer: POLICY.issuer }) }),
  },
  'never refreshes claims': { logins: () => ({ isDue: () => false }) },
  'ends a login while the issuer is not available': { away: refusal },
  'keeps the role that the first claims gave': {
    people: (people) => ({
      putUser: async (person) => people.userOf(person.issuer, person.sub) ?? people.putUser(person),
    }),
  },
  'keeps a refresh token that was used': {
    logins: (logins) => ({
      confirm: async (login, value) => logins.confirm(login, value, await logins.tokenOf(login, value)),
    }),
  },
  'accepts logins without `sign_in`': { ignoresPolicy: true },
  'never ends an idle login': {
    table: (table) => ({
      insert: (row, token) => table.insert({ ...row, login: { ...row.login, usedAt: FAR } }, token),
    }),
  },
  'never ends a login that is used': {
    table: (table) => ({
      insert: (row, token) => table.insert({ ...row, login: { ...row.login, expiresAt: FAR } }, token),
    }),
  },
  'treats every cookie as the newest': { logins: (logins) => ({ of: () => logins.list()[0] ?? null }) },
};

const unless = <T extends object>(one: T | null, more: Partial<T>): T | null => one && { ...one, ...more };

describe('the law finds the mutant that', () => {
  for (const [name, mutant] of Object.entries(MUTANTS)) {
    test(name, async () => {
      const { errorInstance } = await fc.check(lawOf(mutant), { numRuns: 3_000, seed: 7, endOnFailure: true });
      expect(String(errorInstance)).toContain('returning false');
    });
  }
});
