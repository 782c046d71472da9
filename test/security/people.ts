import { join } from 'node:path';
import { INHERITED, NO_TERMS } from '../../src/core/people/people.ts';
import { openStore } from '../../src/store/open.ts';
import { LOGIN, loginOf, startGateway } from '../sign-in/stage.ts';
import { aTeam, aUser } from '../store/suites/people.ts';
import { waitFor } from '../support/answers.ts';
import { startIssuer } from '../support/issuer.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { useStarted } from '../support/use.ts';
import { Visitor } from '../support/visitor.ts';

/** People by name, with the terms that their claims give. The owner's claims give less, but the owner stays an owner. */
const PEOPLE = {
  owner: 'role: member, team: red',
  admin: 'role: admin, team: red',
  auditor: 'role: auditor, team: red',
  finance: 'role: finance, team: red',
  lead: 'role: lead, team: red',
  member: 'role: member, team: red',
  /** May only use the model `toy`. */
  limited: 'role: member, team: red',
  stranger: 'role: lead, team: blue',
  newcomer: 'role: member',
} as const;
export type PersonName = keyof typeof PEOPLE;
const NAMES = Object.keys(PEOPLE) as PersonName[];

/** A browser in which a person has signed in. */
export interface Browser {
  /** The person's cookie, and the Origin of the console's pages. */
  readonly headers: Readonly<Record<string, string>>;
  get(path: string): Promise<Response>;
  send(method: string, path: string, body?: object): Promise<Response>;
  post(path: string, body: object): Promise<Response>;
}

export interface PeopleBox extends Signalbox {
  /** The browser of a person, `user_NAME`. */
  as(name: PersonName): Browser;
  /** A new browser in which the person signs in now. */
  signIn(name: PersonName): Promise<Browser>;
}

/**
 * A gateway at which people have signed in through a real OpenID provider, with the logins that browsers get.
 * @param records the section `records` of the policy
 * @param args arguments of `serve`
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

/** Gives the users IDs that tests can name. The sign-in sets the users' roles and teams. */
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
