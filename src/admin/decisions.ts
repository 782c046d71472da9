import { Type } from '@sinclair/typebox';
import { LEFT_OUT_REASONS } from '../core/decision/decision.ts';
import { NO_FIGURES, RECORD_STATUSES, type RecordStatus, type RecordSummary } from '../core/decision/record.ts';
import { GUARD_FINDINGS, plainVerdict, verdictText } from '../core/decision/verdict.ts';
import { sizedAs, type ValueOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { ERROR_CODES, ERRORS, refuse } from '../core/errors.ts';
import { idText, parseId } from '../core/id.ts';
import { OPERATION_NAMES } from '../core/kinds/operations.ts';
import type { Caller } from '../core/people/caller.ts';
import type { RecordReader } from '../gateway/records/records.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { RecordEntry, RecordLog, RecordQuery } from '../store/records.ts';
import { Decision, DecisionRepeat, FoundRequest, shownAttempt, shownDecision } from './decision.ts';
import { DecisionList, DecisionSummary, KeptContent } from './decision-list.ts';
import { DecisionMoney } from './decision-money.ts';
import { explained, type PrintedRequest, requestLines } from './decision-text.ts';
import { type Operation, operationsOn } from './kit/operation.ts';
import type { ReportServices } from './usage.ts';
import { readContent } from './use-cases/content.ts';
import { decisionMoney, type MoneySources } from './use-cases/decision-money.ts';
import { findShown, listDecisions } from './use-cases/decisions.ts';
import { explainDecision } from './use-cases/explain-decision.ts';
import { repeatDecision } from './use-cases/repeat-decision.ts';
import { checkShown, type Sight } from './use-cases/sight.ts';
import { type FilterNames, unknownNames } from './use-cases/unknown-names.ts';

/** The services that lists of decisions use. */
export interface DecisionReader extends Pick<ReportServices, 'sightOf' | 'ownersOf'> {
  readonly records: Pick<RecordLog, 'list'>;
  /** The keys and teams that filters can name. */
  readonly filterNames: FilterNames;
}

/** The services that find a request by its ID. */
export interface RequestReader extends Pick<DecisionReader, 'sightOf'> {
  readonly records: Pick<RecordReader, 'find' | 'findRequest'>;
  /** The names of teams and users. */
  readonly people: {
    team(id: string): { readonly name: string } | null;
    user(id: string): { readonly name: string } | null;
  };
}

/** The services that operations on one decision use. */
export interface DecisionServices extends Pick<DecisionReader, 'sightOf'> {
  readonly gateway: Pick<Gateway, 'records' | 'past' | 'lease' | 'log'>;
  readonly store: MoneySources['store'];
  /** Adds to a caller the terms of its team, its user and the organization. */
  levelsOf(caller: Caller): Caller;
}

const LIMIT = 50;
const LIMIT_MAX = 500;
const ID = { form: 'ID' } as const;

/** The summary for a record that cannot be read. */
const UNREADABLE: Readonly<Record<keyof RecordSummary, null>> = {
  time: null,
  stream: null,
  labels: null,
  metadata: null,
  reason: null,
  revision: null,
  selector: null,
  provider: null,
  error: null,
  attempts: null,
  ...NO_FIGURES,
  insteadOf: null,
  refused: null,
  guards: null,
  guardedBy: null,
  cache: null,
  spared: null,
};

/** Shows a decision or a refused request, without the fields that its reader may not see. */
function shown({ summary, ...entry }: RecordEntry, sight: Sight): ValueOf<typeof DecisionSummary> {
  const { id, request, keyId, user, session, operation } = entry;
  const { time, labels, metadata, reason, refused, guards, guardedBy: _, spared: __, ...facts } = summary ?? UNREADABLE;
  const isRefused = entry.status === 'refused';
  return {
    ...entry,
    ...facts,
    id: idText(isRefused ? 'req_' : 'dec_', id),
    request: request === null ? null : idText('req_', request),
    operation: operation || null,
    model: isRefused && sight.isNarrow ? '' : entry.model,
    selector: isRefused ? null : facts.selector,
    revision: isRefused ? null : facts.revision,
    reason: isRefused ? null : reason,
    httpStatus: summary && httpStatusOf(entry.status, summary),
    refused: refused && { ...refused, message: sight.isNarrow ? null : reason },
    created: time === null ? null : Math.floor(time / 1_000),
    time,
    keyId: sight.isNarrow ? null : keyId || null,
    keyName: sight.nameOf(keyId),
    user: sight.isNarrow ? null : user,
    labels,
    metadata: sight.isNarrow ? null : metadata,
    session: sight.showsRunsOf(keyId, labels ?? {}) ? session : null,
    guards: (guards ?? []).map((verdict) => verdictText(sight.showsUpstream ? verdict : plainVerdict(verdict))),
  };
}

function httpStatusOf(status: RecordStatus, { error, refused }: RecordSummary): number | null {
  if (error !== null) return refused?.status ?? ERRORS[error].status;
  return status === 'abandoned' ? null : 200;
}

/** The HTTP statuses of errors, as texts. */
const HTTP_STATUSES = [...new Set(Object.values(ERRORS).map(({ status }) => String(status)))].sort();

/** Returns the filter for the status of a record or for an HTTP status. Errors are stored by their codes. */
function statusFilter(given: string | undefined): Pick<RecordQuery, 'status' | 'codes'> {
  const status = RECORD_STATUSES.find((one) => one === given);
  if (status !== undefined || given === undefined) return { status };
  return { codes: ERROR_CODES.filter((code) => String(ERRORS[code].status) === given) };
}

const placeOf = (param: 'after' | 'newer_than', text: string | undefined): number | undefined =>
  text === undefined
    ? undefined
    : (parseId('dec_', text) ??
      parseId('req_', text) ??
      refuse(param, `\`${param}\` must be the ID of an entry of the list, such as dec_4rT2kQ9xZ1a.`));

/** The keys that the filter `key` selects. */
export async function keysIn(key: string | undefined, sight: Sight) {
  if (key === undefined) return {};
  const ids = await sight.idsOf(key);
  return ids.length === 1 ? { keyId: ids[0] } : { keyIds: ids };
}

/** The filters by the sender and the model of a request. */
const REQUEST_FILTERS = {
  key: f.inCommand(
    f.text(
      'The ID or the name of the key, or the address of the wallet, that made the request. With a key with the scope `report`, only the name of the key.',
    ),
    ID,
  ),
  team: f.inCommand(f.text('The ID or name of the team that the key belonged to.'), ID),
  user: f.inCommand(
    f.text(
      'The ID or email address of the user that the key belonged to. Not available with a key with the scope `report`.',
    ),
    ID,
  ),
  model: f.inCommand(
    f.text(
      'The model that was tried last, or the choice if none was tried. For a refused request, the model that it named.',
    ),
    ID,
  ),
};

/** The operation of `GET /admin/decisions` and `signalbox decisions list`. */
export const listRecords = operationsOn<DecisionReader>()({
  name: 'decisions list',
  use: 'to find requests, for example those that failed, and the ID of their decision.',
  example: 'decisions list --status failed --from 2026-11-20',
  http: 'GET /admin/decisions',
  action: 'decisions.list',
  summary: 'List decisions and refused requests',
  details:
    'Lists the decisions and the refused requests that match all filters, newest first. A request is refused if its answer has a status from 400 up and no model was decided. For each key together with its child keys the list has at most 60 refused requests of a minute, and the number of the others. For each page the server examines at most about 100,000 entries. If few of them match, the page may have fewer than `limit` entries, or none. Continue the list with `next_after`. `GET /v1/decisions/{id}` explains one decision.',
  input: f.closed('Which decisions.', {
    ...f.allOptional({
      from: f.momentIn(
        'The beginning of the period, such as `2026-11-20` or `2026-11-20T08:00Z`. A day begins at midnight UTC.',
      ),
      to: f.momentIn('The end of the period. The list has only decisions from before this moment.'),
      ...REQUEST_FILTERS,
      task: f.text('The task type of the request.'),
      status: f.inCommand(
        f.word(
          [...RECORD_STATUSES, ...HTTP_STATUSES],
          `One of ${RECORD_STATUSES.join(', ')}, or the HTTP status of an error, such as 404.`,
        ),
        { form: [...RECORD_STATUSES, '404'].join('|') },
      ),
      code: f.inCommand(f.word(ERROR_CODES, 'The error code of the answer, such as `model_not_found`.'), {
        form: 'CODE',
      }),
      operation: f.word(OPERATION_NAMES, `One of ${OPERATION_NAMES.join(', ')}.`),
      session: f.inCommand(
        f.text('The session that the request names. Not available with a key with the scope `report`.'),
        {
          form: 'NAME',
        },
      ),
      guard: f.inCommand(
        f.text('The name of a guard that found something in the request or its answer, or that failed.'),
        { form: 'NAME' },
      ),
      finding: f.word(
        GUARD_FINDINGS,
        'What a guard did, or with `guard` what that guard did: `block`, `mask`, `repair` or `flag` after a match, or `failed`.',
      ),
      instead_of: f.inCommand(
        f.text(
          'A model that the request named, but that was not called: it was left out, and a fallback was used instead.',
        ),
        ID,
      ),
      left_out: f.as(
        'leftOut',
        f.inCommand(
          f.word(
            ['any', ...LEFT_OUT_REASONS],
            'Why the model that the request named was left out, such as `cooling` or `funds`; `any` for any reason.',
          ),
          { form: 'any|REASON' },
        ),
      ),
      label: f.as(
        'labels',
        f.mapOf(
          Type.String(),
          'A label that the key had when the request was made, as `name=value`. If you repeat it, a decision must match all labels.',
        ),
      ),
      after: f.inCommand(
        f.formed('`next_after` of the previous page, or the ID of its last entry.', { minLength: 1 }),
        ID,
      ),
      newer_than: f.inCommand(
        f.formed('Only entries that began after the entry with this ID. Use it to count new requests.', {
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
      ...[
        'id',
        'time',
        'key_id',
        'key_name',
        'operation',
        'status',
        'http_status',
        'model',
        'task',
        'credits_consumed',
        'total_ms',
      ],
      ...['error', 'refusal.answers'],
    ],
    sum: ({ data, has_more }: { readonly data: readonly unknown[]; readonly has_more: boolean }) =>
      data.length > 0 ? '' : has_more ? 'None of the newest requests match.\n' : 'No request matches.\n',
  },
  // Only callers who see all requests may learn which keys and teams exist.
  warn: ({ filterNames }, { reach }, { key, team }, { data, hasMore }) =>
    data.length === 0 && !hasMore && reach === 'all' ? unknownNames({ key, team }, filterNames) : [],
  async run({ records, sightOf, ownersOf }, { by }, { limit = LIMIT, status, after, newerThan, ...given }) {
    const { key, team, user, ...filters } = given;
    const { from, to, session } = filters;
    const sight = sightOf(by);
    checkShown(sight, { user, session });
    if (from !== undefined && to !== undefined && from >= to) refuse('to', '`to` must be later than `from`.');
    const query = {
      ...filters,
      ...statusFilter(status),
      ...(await keysIn(key, sight)),
      ...ownersOf(by, { team, user }),
      after: placeOf('after', after),
      newerThan: placeOf('newer_than', newerThan),
      limit,
    };
    const bodyOf = sizedAs(DecisionSummary);
    const page = await listDecisions(by, records, query, sight, (entry) => bodyOf(shown(entry, sight)));
    const data = page.entries.map((entry) => shown(entry, sight));
    // The ID of a row if the page ends with it, so that the row can be found by the value of `next_after`.
    const ends = page.next === page.entries.at(-1)?.id ? data.at(-1)?.id : undefined;
    return {
      data,
      hasMore: page.next !== null,
      nextAfter: page.next === null ? null : (ends ?? idText('dec_', page.next)),
    };
  },
});

/** The operation of `GET /admin/requests/{id}` and `signalbox decisions show`. */
const showRecord = operationsOn<RequestReader>()({
  name: 'decisions show',
  use: 'when a caller reports the `x-request-id` of an answer.',
  example: 'decisions show req_0a4x1wm3zj8',
  http: 'GET /admin/requests/:id',
  action: 'decisions.list',
  summary: 'Find a request by its ID',
  details:
    'Finds a request by `x-request-id` (`req_…`) or by the ID of its decision (`dec_…`): who sent it, how it ended, and each attempt at a provider with the status and the message of a failure. `policy explain --decision` explains the choice. A request that still runs has no entry yet.',
  idForm: 'ID',
  output: FoundRequest,
  answer: 'The request.',
  brief: (body: PrintedRequest) => requestLines(body, f.secondText),
  async run({ records, sightOf, people }, { by, id }) {
    const sight = sightOf(by);
    const { entry, record } = await findShown(by, records, id, sight);
    const { attempts = [], repeats } = record?.outcome ?? {};
    const tries = attempts.map((attempt) => shownAttempt(attempt, sight));
    const base = shown(entry, sight);
    const { team, user } = base;
    return {
      ...base,
      tries,
      alias: record?.facts.alias ?? null,
      repeats: repeats === undefined ? null : idText('dec_', repeats),
      teamName: (team && people.team(team)?.name) ?? null,
      userName: (user && people.user(user)?.name) ?? null,
      ...explained(base, record),
    };
  },
});

/** The operations on records that have commands. */
export const DECISION_COMMANDS: readonly Operation<DecisionReader & RequestReader>[] = [listRecords, showRecord];

const operation = operationsOn<DecisionServices>();
const COMMON = { command: false, action: 'decisions.list' } as const;
const EXPLANATION = { output: Decision, answer: 'The record of the decision.' } as const;

/** The operations on one decision: `GET /v1/decisions/{id}`, and further operations under `/admin/decisions`. */
export const DECISION_OPERATIONS = [
  operation({
    name: 'decision',
    http: 'GET /v1/decisions/:id',
    action: 'decisions.explain',
    tag: 'Decisions',
    command: false,
    summary: 'Explain a decision',
    details:
      'Returns the facts about the request (never its text), every model with its estimates and its rank or the reasons against it, the choice, and the outcome. The server repeats the decision from its record to give the actual reasons. `replay` says whether the repetition had the same result. Only the key that made the request and admin keys can read the decision. A key with the scope `report` can read it without the repetition and without the fields that come from it. While the request runs, only the server that decided it returns the decision, with the status `running` and without `outcome` and `receipt`. Other servers answer 404 until the record is written.',
    ...EXPLANATION,
    async run({ gateway, sightOf }, { by, id }) {
      const sight = sightOf(by);
      return shownDecision(await explainDecision(by, gateway, id, sight), sight);
    },
  }),
  operation({
    ...COMMON,
    name: 'decisions explain',
    http: 'GET /admin/decisions/:id',
    summary: 'Explain a decision, for people',
    details:
      'Returns the same as `GET /v1/decisions/{id}`, but also accepts a login. Members see the decisions of their own keys. Leads see the decisions of keys of their team.',
    ...EXPLANATION,
    async run({ gateway, sightOf }, { by, id }) {
      const sight = sightOf(by);
      const explanation = await explainDecision(by, gateway, id, sight);
      return shownDecision(explanation, sight, gateway.lease().snapshot.console.traceUrl);
    },
  }),
  operation({
    ...COMMON,
    name: 'decisions content',
    http: 'GET /admin/decisions/:id/content',
    action: 'content.read',
    summary: 'Read the text of a request and its answer',
    details:
      'The text is available only if `records.content` of the policy stores it, which is off by default. Owners and administrators can read all texts. If `readable_by` is `own`, team leads and members can read the texts of requests with their own keys. The server logs each access.',
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
    summary: 'Show the money of a request, entry by entry',
    details:
      'Returns the entries of the ledger for one request: its holds, each charge with the lines of its bill at the prices of that time, the part of the hold that was released, and the sums.',
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
      'Decides a recorded request again with the active policy and with the current health and speed of endpoints, as if the same key sent it at the same time of day. The operation stores no record and costs nothing. Because a record stores no text, conditions on `user`, and on `metadata` that the policy did not record, see empty values. The length of the question is not considered.',
    output: DecisionRepeat,
    answer: 'The decision, with every candidate.',
    run: ({ gateway: { records, lease }, levelsOf, sightOf }, { by, id }) =>
      repeatDecision(by, { records, lease, levelsOf }, id, sightOf(by)),
  }),
];

/** The input of operations that count records of requests in a period. */
export const COUNTED_INPUT = f.closed('Which requests.', {
  ...f.allOptional({
    from: f.momentIn('The beginning of the period, by default 24 hours before its end.'),
    to: f.momentIn('The end of the period, by default now.'),
    ...REQUEST_FILTERS,
  }),
});
