import { Elysia, type Static, t } from 'elysia';
import { iso } from '../core/clock.ts';
import { RECORD_STATUSES } from '../core/decision-record.ts';
import { SignalboxError } from '../core/errors.ts';
import { OPERATION_NAMES } from '../core/operation.ts';
import { readContent } from '../operate/content.ts';
import { decisionBody } from '../operate/decision-body.ts';
import {
  DecisionFilterError,
  decisionPageBody,
  decisionQuery,
  listDecisions,
  PAGE_LIMIT,
  PAGE_LIMIT_MAX,
} from '../operate/decisions.ts';
import { explainDecision } from '../operate/explain-decision.ts';
import type { Sight } from '../operate/sight.ts';
import type { RecordQuery } from '../store/records.ts';
import { routeDocs } from './docs/route-docs.ts';
import { LABEL_FORM, MOMENT_FORM, NOT_EMPTY, queryLimit, queryText, queryTexts, queryWord } from './query.ts';
import type { RouteServices } from './route-services.ts';
import { Decision, DecisionList, KeptContent } from './schemas/decision.ts';

const QUERY = t.Object({
  from: queryText(
    'The first moment, such as `2026-11-20` or `2026-11-20T08:00Z`. A day begins at midnight UTC.',
    MOMENT_FORM,
  ),
  to: queryText('The moment after the last one.', MOMENT_FORM),
  key: queryText(
    'The ID of the key, or the address of the wallet, that made the request; for a key with the scope `report`, the name of the key.',
  ),
  team: queryText('The ID or name of the team that the key belonged to.'),
  user: queryText('The ID of the user that the key belonged to. Not for a key with the scope `report`.'),
  model: queryText('The last model tried, or the choice if none was tried.'),
  task: queryText('The task type of the request.'),
  status: queryWord(RECORD_STATUSES, `One of ${RECORD_STATUSES.join(', ')}.`),
  operation: queryWord(OPERATION_NAMES, `One of ${OPERATION_NAMES.join(', ')}.`),
  session: queryText('The session that the request names. Not for a key with the scope `report`.'),
  label: queryTexts(
    'A label of the key at the time, as `name=value`. It may be repeated; a decision must have all.',
    LABEL_FORM,
  ),
  after: queryText('`next_after` of the page before, or the ID of its last decision.', NOT_EMPTY),
  newer_than: queryText(
    'Only decisions that were begun after the one with this ID, to see how many are new.',
    NOT_EMPTY,
  ),
  limit: queryLimit(PAGE_LIMIT, PAGE_LIMIT_MAX),
});

/** The reasons for a choice and its outcome, the list of decisions, and the text of a request where the policy keeps it. */
export const decisionRoutes = ({ gateway, principalOf, sightOf, teamIdOf }: RouteServices) => {
  const source = () => ({ log: gateway.records, usdPerCredit: gateway.lease().snapshot.usdPerCredit });
  return new Elysia({ name: 'decisions' })
    .get(
      '/v1/decisions/:id',
      async ({ params: { id }, request }) => {
        const sight = sightOf(request);
        return decisionBody(await explainDecision(principalOf(request), gateway, id, sight), sight);
      },
      routeDocs({
        access: 'decisions.explain',
        summary: 'Explain a decision',
        description:
          'Returns the facts (never text), every model with its estimates and its rank or the reasons against it, the choice, and the outcome. The server replays the decision from its record to give the actual reasons; `replay` says whether the result was the same. Only the key that made the request and admin keys can read it; a key with the scope `report` reads it without the replay, and without what follows from it.',
        tag: 'Decisions',
        answer: { schema: Decision, description: 'The record of the decision.' },
        errors: ['not_found'],
      }),
    )
    .get(
      '/admin/decisions',
      async ({ query, request }) => {
        const sight = sightOf(request);
        const team = query.team && { team: teamIdOf(query.team) };
        const wanted = await recordQuery({ ...query, ...team }, request.url, sight);
        return decisionPageBody(await listDecisions(principalOf(request), source(), wanted, sight));
      },
      {
        query: QUERY,
        ...routeDocs({
          access: 'decisions.list',
          summary: 'List decisions',
          description:
            'The decisions that match all filters, the newest first. A page looks at about 100,000 decisions at most: where the filters seldom hold together it can have fewer than `limit`, or none, and `next_after` goes on. `GET /v1/decisions/{id}` explains one of them. After an update from version 0.1 the server takes older records into the list in the background, the newest first.',
          answer: { schema: DecisionList, description: 'The page.' },
          errorField: 'status',
          errors: ['invalid_value'],
        }),
      },
    )
    .get(
      '/admin/decisions/:id',
      async ({ params: { id }, request }) => {
        const sight = sightOf(request);
        const explanation = await explainDecision(principalOf(request), gateway, id, sight);
        return decisionBody(explanation, sight, gateway.lease().snapshot.traceUrl);
      },
      routeDocs({
        access: 'decisions.list',
        summary: 'Explain a decision, for people',
        description:
          'As `GET /v1/decisions/{id}`, on a path that a login opens. Members see the decisions of their own keys, leads those of the keys of their team.',
        answer: { schema: Decision, description: 'The record of the decision.' },
        errors: ['not_found'],
      }),
    )
    .get(
      '/admin/decisions/:id/content',
      async ({ params: { id }, request }) => {
        const found = await readContent(principalOf(request), gateway, id, sightOf(request));
        return {
          decision_id: found.decision,
          object: 'content',
          prompt: found.prompt,
          answer: found.answer,
          is_cut: found.isCut,
          kept_until: iso(found.until),
        };
      },
      routeDocs({
        access: 'content.read',
        summary: 'Read the text of a request and its answer',
        description:
          'Available only if `records.content` of the policy had them stored, which is off by default. Owners and administrators read any; team leads and members those of requests with keys of their own, if `readable_by` is `own`. Each read is logged.',
        answer: { schema: KeptContent, description: 'The stored text.' },
        errors: ['not_found'],
      }),
    );
};

async function recordQuery(
  { label: _, newer_than: newerThan, ...filters }: Static<typeof QUERY>,
  url: string,
  sight: Sight,
): Promise<RecordQuery> {
  try {
    // The router would split a label at its commas.
    return await decisionQuery({ ...filters, newerThan, label: new URL(url).searchParams.getAll('label') }, sight);
  } catch (cause) {
    if (!(cause instanceof DecisionFilterError)) throw cause;
    const param = cause.filter === 'newerThan' ? 'newer_than' : cause.filter;
    throw new SignalboxError('invalid_value', `\`${param}\` ${cause.message}.`, { param, cause });
  }
}
