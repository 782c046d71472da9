import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { Glob } from 'bun';
import { TEAM_OPERATIONS } from '../../../src/admin/teams.ts';
import { countCache } from '../../../src/admin/use-cases/cache.ts';
import { exportedCharges } from '../../../src/admin/use-cases/charge-export.ts';
import { childKeys, makeChildKey, revokeChildKey } from '../../../src/admin/use-cases/child-keys.ts';
import { clusterStatus } from '../../../src/admin/use-cases/cluster.ts';
import { readContent } from '../../../src/admin/use-cases/content.ts';
import { countRecords } from '../../../src/admin/use-cases/counted-records.ts';
import {
  acceptDatabase,
  copyDatabase,
  databaseStatus,
  migrateDatabase,
} from '../../../src/admin/use-cases/database.ts';
import { decisionMoney } from '../../../src/admin/use-cases/decision-money.ts';
import { findShown, listDecisions } from '../../../src/admin/use-cases/decisions.ts';
import { runDoctor } from '../../../src/admin/use-cases/doctor/run.ts';
import { endpointStatus } from '../../../src/admin/use-cases/endpoints.ts';
import { checkFollower } from '../../../src/admin/use-cases/events.ts';
import { explainDecision } from '../../../src/admin/use-cases/explain-decision.ts';
import { countGuards } from '../../../src/admin/use-cases/guards.ts';
import { instanceStatus } from '../../../src/admin/use-cases/instance.ts';
import { changeKey, suspendKey } from '../../../src/admin/use-cases/key-change.ts';
import { importFile } from '../../../src/admin/use-cases/key-import/import-keys.ts';
import { pageOfKeys } from '../../../src/admin/use-cases/key-pages.ts';
import {
  createKey,
  findKey,
  findNamed,
  grantToKey,
  revokeKey,
  rotatableKey,
  rotateKey,
} from '../../../src/admin/use-cases/keys.ts';
import { lastAudit, runAudit } from '../../../src/admin/use-cases/ledger/audit.ts';
import { backUp } from '../../../src/admin/use-cases/ledger/backup.ts';
import { readBooks } from '../../../src/admin/use-cases/ledger/reading.ts';
import { reconcileBills } from '../../../src/admin/use-cases/ledger/reconcile.ts';
import { refund } from '../../../src/admin/use-cases/ledger/refund.ts';
import { overviewOf, storedOverview } from '../../../src/admin/use-cases/ledger/status.ts';
import { endLogin, listLogins, meOf } from '../../../src/admin/use-cases/logins.ts';
import { findPayment, listPayments, reconcilePayment } from '../../../src/admin/use-cases/payments.ts';
import { removeUser } from '../../../src/admin/use-cases/people.ts';
import { senderAs } from '../../../src/admin/use-cases/playground.ts';
import { listPushes, listRevisions } from '../../../src/admin/use-cases/policy/history.ts';
import { storedPayer } from '../../../src/admin/use-cases/policy/key-funds.ts';
import { pushRevision } from '../../../src/admin/use-cases/policy/push-folder.ts';
import { explainServed } from '../../../src/admin/use-cases/policy/served-explain.ts';
import { reloadPolicy } from '../../../src/admin/use-cases/policy/serving.ts';
import { explainStoredDecision } from '../../../src/admin/use-cases/policy/stored-decision.ts';
import { policyPatch, pushPolicy, writePolicyFiles } from '../../../src/admin/use-cases/policy/write.ts';
import type { Principal } from '../../../src/admin/use-cases/principal.ts';
import { repeatDecision } from '../../../src/admin/use-cases/repeat-decision.ts';
import { ACTION_NAMES, type Action } from '../../../src/admin/use-cases/roles.ts';
import { readScores, resetScores } from '../../../src/admin/use-cases/scores.ts';
import { FULL_SIGHT } from '../../../src/admin/use-cases/sight.ts';
import { blockSubject, findSubject, listSubjects, unblockSubject } from '../../../src/admin/use-cases/subjects.ts';
import { spendOf } from '../../../src/admin/use-cases/traffic/spend.ts';
import { rebuildTraffic, trafficOf } from '../../../src/admin/use-cases/traffic/traffic.ts';
import { eraseWords, exportedTrail, listTrail, verifyTrail } from '../../../src/admin/use-cases/trail.ts';
import { ownUsage, servedUsage, storedUsage } from '../../../src/admin/use-cases/usage.ts';
import {
  blockWallet,
  creditWallet,
  findWallet,
  listWallets,
  unblockWallet,
} from '../../../src/admin/use-cases/wallets.ts';
import { USER_OPERATIONS } from '../../../src/admin/users.ts';
import { SignalboxError } from '../../../src/core/errors.ts';
import { type Caller, OPERATOR } from '../../../src/core/people/caller.ts';
import { USER_ROLES } from '../../../src/core/people/people.ts';

const { scopes: _, ...application } = OPERATOR;
const CALLERS: Readonly<Record<string, Caller>> = {
  ...Object.fromEntries(
    USER_ROLES.map((role) => [
      role,
      { ...application, role, keyId: `user_${role}`, user: `user_${role}`, team: 'team_red', scopes: new Set() },
    ]),
  ),
  report: { ...application, keyId: 'r', scopes: new Set(['report']) },
  caller: { ...application, keyId: 'c', scopes: new Set(['chat', 'route', 'delegate']) },
};

const OPERATORS = ['owner', 'admin'];
const AUDITED = [...OPERATORS, 'auditor'];
const REPORTED = [...AUDITED, 'report'];
const MONEY = [...REPORTED, 'finance'];
const MEMBERS = ['lead', 'member'];
const PEOPLE_AND_KEYS = [...AUDITED, 'finance', ...MEMBERS, 'caller'];

/** Stands for everything that a use case works with, and throws when it is touched. */
class Touched extends Error {}
const stub = new Proxy(() => {}, {
  get: (_, name) => (name === 'then' || name === Symbol.dispose || name === Symbol.asyncDispose ? undefined : stub),
  apply: () => {
    throw new Touched();
  },
}) as never;
const GRANT = { amount: 1, note: '' };

/** Runs an operation whose subject does not exist. */
const operation = (name: string, input = {}) => {
  const found = [...TEAM_OPERATIONS, ...USER_OPERATIONS].find((one) => one.name === name);
  return (by: Principal) => found!.perform(stub, { by, now: 0, id: 'x', credentials: null, tags: null }, input);
};
const PEOPLE_READERS = [...AUDITED, 'finance', ...MEMBERS];

/** Every use case, with the roles that may use it. */
const USE_CASES: Readonly<Record<string, readonly [roles: readonly string[], run: (by: Principal) => unknown]>> = {
  backUp: [['owner'], (by) => backUp(by, stub, { target: import.meta.path, onSpool: stub })],
  blockSubject: [OPERATORS, (by) => blockSubject(by, stub, 's', '')],
  blockWallet: [OPERATORS, (by) => blockWallet(by, stub, 'w', '')],
  changeKey: [[...OPERATORS, ...MEMBERS], (by) => changeKey(by, stub, 'k', stub)],
  checkFollower: [
    [...REPORTED, ...MEMBERS],
    (by) => {
      checkFollower(by);
      throw new Touched();
    },
  ],
  childKeys: [['caller'], (by) => childKeys(by, stub)],
  reconcileBills: [
    MONEY,
    (by) => {
      const day = { model: 'm', unit: 'input', amount: 1, usd: null, tier: null, account: null, day: '2026-11-01' };
      return reconcileBills(by, stub, [{ provider: 'openai', lines: [day] }], { provider: null, account: null });
    },
  ],
  clusterStatus: [REPORTED, (by) => clusterStatus(by, stub)],
  runDoctor: [REPORTED, (by) => runDoctor(by, stub)],
  createKey: [[...OPERATORS, ...MEMBERS], (by) => createKey(by, stub, { name: '', scopes: ['chat'] })],
  creditWallet: [OPERATORS, (by) => creditWallet(by, stub, 'w', GRANT, 0)],
  endLogin: [[...REPORTED, 'finance', ...MEMBERS], (by) => endLogin(by, stub, 'l')],
  endpointStatus: [REPORTED, (by) => endpointStatus(by, stub)],
  eraseWords: [['owner'], (by) => eraseWords(by, stub, { subject: 'a' }, 0)],
  decisionMoney: [[...REPORTED, ...MEMBERS], (by) => decisionMoney(by, stub, 'dec_0a4x1wm3zk0')],
  repeatDecision: [[...AUDITED, ...MEMBERS], (by) => repeatDecision(by, stub, 'dec_0a4x1wm3zk0')],
  copyDatabase: [
    ['owner'],
    (by) => copyDatabase(by, { from: 'none://', to: 'none://', data: '/nowhere', program: '' }),
  ],
  databaseStatus: [REPORTED, (by) => databaseStatus(by, 'none://')],
  acceptDatabase: [['owner'], (by) => acceptDatabase(by, 'none://')],
  migrateDatabase: [['owner'], (by) => migrateDatabase(by, 'none://', '')],
  explainDecision: [[...REPORTED, ...MEMBERS, 'caller'], (by) => explainDecision(by, stub, 'dec_0a4x1wm3zk0')],
  explainStoredDecision: [
    [...REPORTED, ...MEMBERS, 'caller'],
    (by) => explainStoredDecision(by, 'dec_0a4x1wm3zk0', { judge: stub, database: '/nowhere', folder: '' }),
  ],
  exportedCharges: [[...MONEY, ...MEMBERS], (by) => exportedCharges(by, stub, stub)],
  exportedTrail: [AUDITED, (by) => exportedTrail(by, stub, { from: 0, to: 1 }, 0)],
  findShown: [[...REPORTED, ...MEMBERS], (by) => findShown(by, stub, 'dec_0a4x1wm3zk0', FULL_SIGHT)],
  findKey: [[...AUDITED, 'finance', ...MEMBERS], (by) => findKey(by, stub, 'k')],
  findNamed: [[...AUDITED, 'finance', ...MEMBERS], (by) => findNamed(by, stub, 'crm')],
  findPayment: [PEOPLE_AND_KEYS, (by) => findPayment(by, stub, 'pay_0a4x1wm3zk0')],
  findSubject: [[...AUDITED, 'finance'], (by) => findSubject(by, stub, 's')],
  findWallet: [[...AUDITED, 'finance'], (by) => findWallet(by, stub, 'w')],
  resetScores: [OPERATORS, (by) => resetScores(by, '/nowhere/signalbox.db', null, 0)],
  grantToKey: [OPERATORS, (by) => grantToKey(by, stub, stub, 'k', GRANT, 0)],
  importFile: [
    ['owner'],
    (by) =>
      importFile(by, stub, `sha256\n${'0a'.repeat(32)}\n`, { usdPerCredit: null, now: 0, readBudget: stub }, false),
  ],
  instanceStatus: [REPORTED, (by) => instanceStatus(by, stub, { version: '', policyRevision: '' }, [])],
  lastAudit: [[...AUDITED, 'finance'], (by) => lastAudit(by, stub)],
  countCache: [[...REPORTED, ...MEMBERS], (by) => countCache(by, stub, {}, { sight: FULL_SIGHT })],
  countRecords: [[...REPORTED, ...MEMBERS], (by) => countRecords(by, stub, {}, { sight: FULL_SIGHT }, () => {})],
  countGuards: [[...REPORTED, ...MEMBERS], (by) => countGuards(by, stub, {}, { sight: FULL_SIGHT, rules: [] })],
  listDecisions: [[...REPORTED, ...MEMBERS], (by) => listDecisions(by, stub, { limit: 1 })],
  listLogins: [[...REPORTED, 'finance', ...MEMBERS], (by) => listLogins(by, stub, stub)],
  listPayments: [[...AUDITED, 'finance'], (by) => listPayments(by, stub, stub, stub)],
  listSubjects: [[...AUDITED, 'finance'], (by) => listSubjects(by, stub, { limit: 1, before: null })],
  listTrail: [AUDITED, (by) => listTrail(by, stub, { keyId: null, limit: 1 })],
  listWallets: [[...AUDITED, 'finance'], (by) => listWallets(by, stub)],
  senderAs: [[...OPERATORS, ...MEMBERS], (by) => senderAs(by, stub, 'k')],
  explainServed: [[...REPORTED, ...MEMBERS], (by) => explainServed(by, stub, { request: {} })],
  listPushes: [REPORTED, (by) => listPushes(by, stub, {})],
  policyPatch: [REPORTED, (by) => policyPatch(by, stub, [])],
  listRevisions: [REPORTED, (by) => listRevisions(by, stub, stub, {})],
  pushRevision: [OPERATORS, (by) => pushRevision(by, stub, '/nowhere', { from: null })],
  pushPolicy: [OPERATORS, (by) => pushPolicy(by, stub, {}, [''])],
  writePolicyFiles: [OPERATORS, (by) => writePolicyFiles(by, stub, [], [''])],
  // A person has no scope to give to a child key.
  makeChildKey: [['caller'], (by) => makeChildKey(by, stub, null, { name: '' })],
  meOf: [[...REPORTED, 'finance', ...MEMBERS], (by) => meOf(by, stub)],
  overviewOf: [MONEY, (by) => overviewOf(by, stub, stub, FULL_SIGHT, stub)],
  ownUsage: [PEOPLE_AND_KEYS, (by) => ownUsage(by, stub, stub)],
  pageOfKeys: [[...AUDITED, 'finance', ...MEMBERS], (by) => pageOfKeys(by, stub, stub, 0, stub)],
  readBooks: [MONEY, (by) => readBooks(by, { file: '/nowhere', spools: ['/nowhere'] }, stub, stub)],
  // Members may read their own texts if the policy allows it: see test/security/own-content.test.ts.
  readContent: [[...OPERATORS, ...MEMBERS], (by) => readContent(by, stub, 'dec_0a4x1wm3zk0')],
  readScores: [AUDITED, (by) => readScores(by, '/nowhere', stub)],
  rebuildTraffic: [OPERATORS, (by) => rebuildTraffic(by, stub, stub)],
  reconcilePayment: [OPERATORS, (by) => reconcilePayment(by, stub, 'pay_0a4x1wm3zk0')],
  refund: [OPERATORS, (by) => refund(by, '/nowhere/signalbox.db', stub, GRANT, 0)],
  reloadPolicy: [OPERATORS, (by) => reloadPolicy(by, stub, null)],
  revokeKey: [[...OPERATORS, ...MEMBERS], (by) => revokeKey(by, stub, 'k')],
  removeUser: [[...OPERATORS, 'lead'], (by) => removeUser(by, stub, 'u')],
  revokeChildKey: [['caller'], (by) => revokeChildKey(by, stub, 'k')],
  rotatableKey: [[...OPERATORS, ...MEMBERS], (by) => rotatableKey(by, stub, 'k')],
  rotateKey: [[...OPERATORS, ...MEMBERS], (by) => rotateKey(by, stub, 'k', 0)],
  runAudit: [[...AUDITED, 'finance'], (by) => runAudit(by, stub)],
  servedUsage: [[...MONEY, ...MEMBERS], (by) => servedUsage(by, stub, FULL_SIGHT, stub)],
  storedOverview: [MONEY, (by) => storedOverview(by, stub, 0)],
  storedPayer: [
    [...AUDITED, 'finance', ...MEMBERS],
    (by) => storedPayer(by, '/nowhere/signalbox.db', { key: 'k' }, { now: 0, timeMs: 0 }, stub),
  ],
  storedUsage: [[...MONEY, ...MEMBERS], (by) => storedUsage(by, stub, stub)],
  suspendKey: [OPERATORS, (by) => suspendKey(by, stub, 'k', true)],
  spendOf: [[...MONEY, ...MEMBERS], (by) => spendOf(by, stub, {})],
  trafficOf: [[...MONEY, ...MEMBERS], (by) => trafficOf(by, stub, stub)],
  unblockSubject: [OPERATORS, (by) => unblockSubject(by, stub, 's')],
  unblockWallet: [OPERATORS, (by) => unblockWallet(by, stub, 'w')],
  verifyTrail: [AUDITED, (by) => verifyTrail(by, stub, [])],
  'teams create': [OPERATORS, operation('teams create', { name: 't' })],
  'teams list': [PEOPLE_READERS, operation('teams list')],
  'teams show': [PEOPLE_READERS, operation('teams show')],
  'teams change': [OPERATORS, operation('teams change')],
  'teams delete': [OPERATORS, operation('teams delete')],
  'users create': [[...OPERATORS, 'lead'], operation('users create')],
  'users list': [PEOPLE_READERS, operation('users list')],
  'users show': [PEOPLE_READERS, operation('users show')],
  'users change': [[...OPERATORS, 'lead'], operation('users change')],
  'users suspend': [[...OPERATORS, 'lead'], operation('users suspend')],
  'users resume': [[...OPERATORS, 'lead'], operation('users resume')],
  'users delete': [[...OPERATORS, 'lead'], operation('users delete')],
};

/** Whether a use case accepts a caller, whatever happens after that. */
async function admits(run: (by: Principal) => unknown, caller: Caller): Promise<boolean> {
  try {
    await run({ caller, actor: { kind: 'server' } });
    return true;
  } catch (cause) {
    return !(cause instanceof SignalboxError && cause.code === 'insufficient_permissions');
  }
}

describe('a use case refuses the roles that the table does not allow, whoever calls it:', () => {
  for (const [name, [roles, run]] of Object.entries(USE_CASES)) {
    test(name, async () => {
      const admitted: string[] = [];
      for (const [role, caller] of Object.entries(CALLERS)) if (await admits(run, caller)) admitted.push(role);
      expect(admitted.toSorted()).toEqual(roles.toSorted());
    });
  }
});

const filesIn = (folder: string): { readonly file: string; readonly text: string }[] =>
  [...new Glob(`src/${folder}/**/*.ts`).scanSync()].sort().map((file) => ({ file, text: readFileSync(file, 'utf8') }));

/** Actions that keys, people and applications take for themselves. The modules of these actions check them. */
const ELSEWHERE: readonly Action[] = ['models.read', 'models.list', 'feedback.give', 'wallets.pay'];

describe('the one door', () => {
  test('use cases check every action of the table except requests to models', () => {
    const text = ['admin']
      .flatMap(filesIn)
      .map((one) => one.text)
      .join('\n');
    expect(ACTION_NAMES.filter((name) => !new RegExp(`(?:checkAction\\([^)]*|action: )'${name}'`).test(text))).toEqual([
      ...ELSEWHERE,
    ]);
  });

  test('this test file has every use case that takes a principal', () => {
    const taking =
      /^export (?:async )?function (\w+)(?:<\w+>)?\(\s*(?:\w+|\{[^}]*\}): Principal\b|^export const (\w+) = (?:async )?\(\s*(?:\w+|\{[^}]*\}): Principal\b/gm;
    const names = filesIn('admin/use-cases').flatMap(({ text }) =>
      [...text.matchAll(taking)].map(([, one, other]) => one ?? other),
    );
    const operations = [...TEAM_OPERATIONS, ...USER_OPERATIONS].map(({ name }) => name);
    expect([...names, ...operations].filter((name = '') => !Object.hasOwn(USE_CASES, name))).toEqual([]);
  });

  test('routes and commands reach stored keys, policies, content, payments and the trail only through use cases', () => {
    const around =
      /\bkeys\.(?:create|rotate|revoke|change|suspend|resume|grant|get|list|trail)\(|\btrail\.(?:list|links|erase|add\w*)\(|\bpolicy\.reload\(|\.findContent\(|\bblocklist\.(?:add|remove)\(|\bpayments\.(?:list|reconcile)\(|\bledger\.(?:usage|status|grant|refund)\(|\brecords\.(?:list|find)\(/;
    const found = ['http', 'admin', 'cli']
      .flatMap(filesIn)
      .filter(({ file, text }) => !file.startsWith('src/admin/use-cases/') && around.test(text))
      .map(({ file }) => file);
    expect(found).toEqual([]);
  });

  test('only use cases decide by roles: no other code checks the scopes of operators', () => {
    const found = [
      'core',
      'access',
      'routing',
      'gateway',
      'admin',
      'http',
      'server',
      'payments',
      'dialects',
      'cli',
    ].flatMap(filesIn);
    expect(found.filter(({ text }) => /\.has\('(?:admin|report)'\)/.test(text)).map(({ file }) => file)).toEqual([
      'src/core/people/caller.ts',
    ]);
  });
});
