import { Type } from '@sinclair/typebox';
import type { Caller } from '../core/caller.ts';
import { RECORD_STATUSES, type RecordSummary } from '../core/decision-record.ts';
import { refuse } from '../core/errors.ts';
import { idText, parseId } from '../core/id.ts';
import { OPERATION_NAMES } from '../core/operation.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { RecordEntry, RecordLog } from '../store/records.ts';
import { Decision, DecisionRepeat } from './decision.ts';
import { DecisionList, DecisionSummary, KeptContent } from './decision-list.ts';
import { DecisionMoney } from './decision-money.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import type { ReportServices } from './usage.ts';
import { readContent } from './use-cases/content.ts';
import { decisionBody } from './use-cases/decision-body.ts';
import { decisionMoney, type MoneySources } from './use-cases/decision-money.ts';
import { listDecisions } from './use-cases/decisions.ts';
import { explainDecision } from './use-cases/explain-decision.ts';
import { repeatDecision } from './use-cases/repeat-decision.ts';
import { checkShown, type Sight } from './use-cases/sight.ts';

/** The services that lists of decisions use. */
export interface DecisionReader extends Pick<ReportServices, 'sightOf' | 'ownersOf'> {
  readonly records: Pick<RecordLog, 'list'>;
}

/** The services that operations on one decision use. */
export interface DecisionServices extends Pick<DecisionReader, 'sightOf'> {
  readonly gateway: Pick<Gateway, 'records' | 'past' | 'lease' | 'log'>;
  readonly store: MoneySources['store'];
  /** Puts the terms of its levels to a caller. */
  levelsOf(caller: Caller): Caller;
}

const LIMIT = 50;
const LIMIT_MAX = 500;
const ID = { form: 'ID' } as const;

/** The summary of a record that cannot be read. */
const UNREADABLE: Readonly<Record<keyof RecordSummary, null>> = {
  ...{ time: null, stream: null, labels: null, metadata: null, reason: null, revision: null, selector: null },
  ...{ provider: null, error: null, attempts: null, charged: null, saved: null },
  ...{ firstPartMs: null, totalMs: null, inputTokens: null, outputTokens: null },
};

/** A decision as far as its reader may see it. */
function shown({ summary, ...entry }: RecordEntry, sight: Sight): f.ValueOf<typeof DecisionSummary> {
  const { id, keyId, user, session } = entry;
  const { time, labels, metadata, ...facts } = summary ?? UNREADABLE;
  return {
    ...entry,
    ...facts,
    id: idText('dec_', id),
    created: time === null ? null : Math.floor(time / 1_000),
    time,
    keyId: sight.isNarrow ? null : keyId,
    keyName: sight.nameOf(keyId),
    user: sight.isNarrow ? null : user,
    labels,
    metadata: sight.isNarrow ? null : metadata,
    session: sight.showsRunsOf(keyId, labels ?? {}) ? session : null,
  };
}

const placeOf = (param: 'after' | 'newer_than', text: string | undefined): number | undefined =>
  text === undefined
    ? undefined
    : (parseId('dec_', text) ?? refuse(param, `\`${param}\` must be the ID of a decision.`));

/** The keys that a filter means. */
async function keysIn(key: string | undefined, sight: Sight) {
  if (key === undefined) return {};
  const ids = await sight.idsOf(key);
  return ids.length === 1 ? { keyId: ids[0] } : { keyIds: ids };
}

/** `GET /admin/decisions` and `signalbox decisions list`. */
export const listRecords = operationsOn<DecisionReader>()({
  name: 'decisions list',
  http: 'GET /admin/decisions',
  action: 'decisions.list',
  summary: 'List decisions',
  details:
    'Lists the decisions that match all filters, the newest first. A page looks at about 100,000 decisions at most: if few of them match, it can have fewer than `limit`, or none, and `next_after` continues the list. `GET /v1/decisions/{id}` explains one of them. After an update from version 0.1 the server takes older records into the list in the background, the newest first.',
  input: f.body('Which decisions.', {
    ...f.allOptional({
      from: f.momentIn('The first moment, such as `2026-11-20` or `2026-11-20T08:00Z`. A day begins at midnight UTC.'),
      to: f.momentIn('The moment after the last one.'),
      key: f.inCommand(
        f.text(
          'The ID of the key, or the address of the wallet, that made the request; for a key with the scope `report`, the name of the key.',
        ),
        ID,
      ),
      team: f.inCommand(f.text('The ID or name of the team that the key belonged to.'), ID),
      user: f.inCommand(
        f.text('The ID or address of the user that the key belonged to. Not for a key with the scope `report`.'),
        ID,
      ),
      model: f.inCommand(f.text('The last model tried, or the choice if none was tried.'), ID),
      task: f.text('The task type of the request.'),
      status: f.word(RECORD_STATUSES, `One of ${RECORD_STATUSES.join(', ')}.`),
      operation: f.word(OPERATION_NAMES, `One of ${OPERATION_NAMES.join(', ')}.`),
      session: f.inCommand(f.text('The session that the request names. Not for a key with the scope `report`.'), {
        form: 'NAME',
      }),
      label: f.as(
        'labels',
        f.mapOf(
          Type.String(),
          'A label of the key at the time, as `name=value`. It may be repeated; a decision must have all.',
        ),
      ),
      after: f.inCommand(
        f.formed('`next_after` of the page before, or the ID of its last decision.', { minLength: 1 }),
        ID,
      ),
      newer_than: f.inCommand(
        f.formed('Only decisions that were begun after the one with this ID, to see how many are new.', {
          minLength: 1,
        }),
        ID,
      ),
    }),
    limit: f.pageSize({ most: LIMIT_MAX, unlessGiven: LIMIT, code: 'invalid_value' }),
  }),
  output: DecisionList,
  answer: 'The page.',
  errorField: 'status',
  commandLimit: LIMIT,
  prints: {
    columns: [
      ...['id', 'time', 'key_id', 'operation', 'status', 'model', 'task', 'credits_consumed', 'total_ms'],
      ...['error'],
    ],
  },
  async run({ records, sightOf, ownersOf }, { by }, { limit = LIMIT, key, team, user, after, newerThan, ...filters }) {
    const { from, to, session } = filters;
    const sight = sightOf(by);
    checkShown(sight, { user, session });
    if (from !== undefined && to !== undefined && from >= to) refuse('to', '`to` must be later than `from`.');
    const query = {
      ...filters,
      ...(await keysIn(key, sight)),
      ...ownersOf(by, { team, user }),
      after: placeOf('after', after),
      newerThan: placeOf('newer_than', newerThan),
      limit,
    };
    const bodyOf = f.sizedAs(DecisionSummary);
    const page = await listDecisions(by, records, query, sight, (entry) => bodyOf(shown(entry, sight)));
    return {
      data: page.entries.map((entry) => shown(entry, sight)),
      hasMore: page.next !== null,
      nextAfter: page.next === null ? null : idText('dec_', page.next),
    };
  },
});

const operation = operationsOn<DecisionServices>();
const COMMON = { command: false, action: 'decisions.list' } as const;
const EXPLANATION = { output: f.onWire(Decision), answer: 'The record of the decision.' } as const;

/** `GET /v1/decisions/{id}`, and what else is told of one decision under `/admin/decisions`. */
export const DECISION_OPERATIONS = [
  operation({
    name: 'decision',
    http: 'GET /v1/decisions/:id',
    action: 'decisions.explain',
    tag: 'Decisions',
    command: false,
    summary: 'Explain a decision',
    details:
      'Returns the facts (never text), every model with its estimates and its rank or the reasons against it, the choice, and the outcome. The server replays the decision from its record to give the actual reasons; `replay` says whether the result was the same. Only the key that made the request and admin keys can read it; a key with the scope `report` reads it without the replay, and without what follows from it. While the request runs, the server that decided it returns the decision with the status `running`, without `outcome` and `receipt`; other servers answer 404 until the record is written.',
    ...EXPLANATION,
    async run({ gateway, sightOf }, { by, id }) {
      const sight = sightOf(by);
      return decisionBody(await explainDecision(by, gateway, id, sight), sight);
    },
  }),
  operation({
    ...COMMON,
    name: 'decisions explain',
    http: 'GET /admin/decisions/:id',
    summary: 'Explain a decision, for people',
    details:
      'As `GET /v1/decisions/{id}`, on a path that a login opens. Members see the decisions of their own keys, leads those of the keys of their team.',
    ...EXPLANATION,
    async run({ gateway, sightOf }, { by, id }) {
      const sight = sightOf(by);
      const explanation = await explainDecision(by, gateway, id, sight);
      return decisionBody(explanation, sight, gateway.lease().snapshot.traceUrl);
    },
  }),
  operation({
    ...COMMON,
    name: 'decisions content',
    http: 'GET /admin/decisions/:id/content',
    action: 'content.read',
    summary: 'Read the text of a request and its answer',
    details:
      'Available only if `records.content` of the policy had them stored, which is off by default. Owners and administrators read any; team leads and members those of requests with keys of their own, if `readable_by` is `own`. Each read is logged.',
    output: KeptContent,
    answer: 'The stored text.',
    async run({ gateway, sightOf }, { by, id }) {
      return await readContent(by, gateway, id, sightOf(by));
    },
  }),
  operation({
    ...COMMON,
    name: 'decisions money',
    http: 'GET /admin/decisions/:id/money',
    summary: 'The money of a request, line by line',
    details:
      'The entries of the ledger for one request: its hold and tranches, each charge with the lines of its bill at the prices of that time, the part that was released, and their sums.',
    output: DecisionMoney,
    answer: 'The entries.',
    async run({ gateway: { records }, store, sightOf }, { by, id }) {
      const money = await decisionMoney(by, { records, store }, id, sightOf(by));
      return { ...money, decisionId: idText('dec_', money.id) };
    },
  }),
  operation({
    ...COMMON,
    name: 'decisions repeat',
    http: 'GET /admin/decisions/:id/repeat',
    action: 'decisions.repeat',
    summary: 'Decide a request again with the active policy',
    details:
      'Decides a recorded request by the policy and the health and speed of endpoints of now, as if it came from the same key at the same time of its day. It leaves no record and costs nothing. A record keeps no text: conditions on `user`, or on `metadata` that the policy did not record, find them empty, and the length of the question does not count.',
    output: f.onWire(DecisionRepeat),
    answer: 'The decision, with every candidate.',
    run: ({ gateway: { records, lease }, levelsOf, sightOf }, { by, id }) =>
      repeatDecision(by, { records, lease, levelsOf }, id, sightOf(by)),
  }),
];
