import { join } from 'node:path';
import { INHERITED, NO_TERMS } from '../../src/core/people.ts';
import { openStore } from '../../src/store/open.ts';
import { LOGIN, loginOf, startGateway } from '../sign-in/stage.ts';
import { aTeam, aUser } from '../store/suites/people.ts';
import { waitFor } from '../support/answers.ts';
import { startIssuer } from '../support/issuer.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { useStarted } from '../support/use.ts';
import { Visitor } from '../support/visitor.ts';

/** By name, with what the claims of each give. Those of the owner give less: it stays one. */
const PEOPLE = {
  owner: 'role: member, team: red',
  admin: 'role: admin, team: red',
  auditor: 'role: auditor, team: red',
  finance: 'role: finance, team: red',
  lead: 'role: lead, team: red',
  member: 'role: member, team: red',
  /** May use the model `toy` alone. */
  limited: 'role: member, team: red',
  stranger: 'role: lead, team: blue',
  newcomer: 'role: member',
} as const;
export type PersonName = keyof typeof PEOPLE;
const NAMES = Object.keys(PEOPLE) as PersonName[];

/** A browser in which somebody has signed in. */
export interface Browser {
  /** Its cookie, and the Origin of our own pages. */
  readonly headers: Readonly<Record<string, string>>;
  get(path: string): Promise<Response>;
  send(method: string, path: string, body?: object): Promise<Response>;
  post(path: string, body: object): Promise<Response>;
}

export interface PeopleBox extends Signalbox {
  /** The browser of a person, `user_NAME`. */
  as(name: PersonName): Browser;
  /** A new one, in which the person signs in now. */
  signIn(name: PersonName): Promise<Browser>;
}

/**
 * A gateway at which people have signed in at a real OpenID provider, by logins as browsers have them.
 * @param records that section of the policy
 * @param args of `serve`
 */
export const usePeople = (records = '{ content: {} }', args: readonly string[] = []): PeopleBox =>
  useStarted(() => startPeople(records, args));

async function startPeople(records: string, args: readonly string[]): Promise<PeopleBox> {
  const issuer = await startIssuer();
  const box = await startGateway(issuer.url, `records: ${records}\n`, { roles: PEOPLE, args });
  issuer.register(box.url);
  for (const name of NAMES) issuer.people.set(name, { groups: [name] });
  await seat(box, issuer.url);
  const signIn = async (name: PersonName): Promise<Browser> => {
    const visitor = new Visitor();
    await visitor.signIn(`${box.url}/console/sign-in`, name, (url) => url === `${box.url}/console`);
    return browserAt(box, loginOf(visitor, box));
  };
  const browsers = new Map<PersonName, Browser>();
  for (const name of NAMES) browsers.set(name, await signIn(name));
  const { stop } = box;
  return Object.assign(box, {
    signIn,
    as: (name: PersonName) => browsers.get(name)!,
    stop: async () => {
      await stop();
      await issuer.stop();
    },
  });
}

function browserAt({ url }: Signalbox, value: string): Browser {
  const headers = { cookie: `${LOGIN}=${value}`, origin: url };
  const send: Browser['send'] = (method, path, body) =>
    fetch(url + path, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  return { headers, send, get: (path) => send('GET', path), post: (path, body) => send('POST', path, body) };
}

const NO_MONEY = { models: null, limits: null, budgets: [], memberDefaults: NO_TERMS };

/** Puts the users under IDs that tests can name; their roles and teams come by sign-in. */
async function seat(box: Signalbox, issuer: string): Promise<void> {
  const store = await openStore(join(box.data, 'signalbox.db'), { mode: 'beside', rooms: ['access', 'people'] });
  const { people } = store;
  await store.commit([
    ...['red', 'blue'].map((name) => people.putTeam(aTeam(name, { ...NO_MONEY, name }), null)),
    ...NAMES.map((name) => {
      const role = name === 'owner' ? 'owner' : 'member';
      const terms = { ...INHERITED, models: name === 'limited' ? ['toy'] : null };
      return people.putUser(aUser(name, { issuer, role, terms }), null);
    }),
  ]);
  await store.close();
  await waitFor(async () => (await box.get('/admin/users/user_newcomer')).status === 200);
}
