import { Type } from '@sinclair/typebox';
import { modelId } from '../core/decision/shared-fields.ts';
import * as field from '../core/define/fields.ts';
import { OPERATION_NAMES } from '../core/kinds/operations.ts';
import { type Microcredits, toCredits } from '../core/money/credits.ts';
import { CAPABILITY_NAMES, capabilityNames, SCHEMA_INSTEAD } from '../core/request/capability.ts';
import {
  DIFFICULTIES,
  ESCALATION_NAMES,
  type Facts as FactsOfRequest,
  type Unescalated,
} from '../core/request/facts.ts';
import { byReason, FALLBACK_REASONS, listFor } from '../core/request/fallbacks.ts';
import { TIERS } from '../core/request/tiers.ts';
import { cachedTokens } from './certificate.ts';

const of = field.from<FactsOfRequest>();
const ofSignal = field.from<Unescalated>();
const creditsOrNull = (amount: Microcredits | null | undefined) => (amount == null ? null : toCredits(amount));

export const Facts = field.view<FactsOfRequest>()(
  'The facts that the decision was based on. The facts contain no text of the request.',
  {
    operation: field.word(OPERATION_NAMES, 'The operation of the request.'),
    model: field.text(
      'The selector or the ID of the model that the request named as `model`. An alias is resolved.',
      'auto',
    ),
    alias: field.textOrNull('The alias that the request used as `model`; null if the request used no alias.'),
    pinned: of(({ named }) => named !== null, field.flag('True when the request named one model.')),
    fallbacks: of(
      ({ fallbacks }) =>
        fallbacks ? { by: fallbacks.by, ...byReason((reason) => [...listFor(fallbacks, reason)]) } : null,
      field.onWire(
        field.shapeOrNull(
          'The models to try next, by reason, as the policy or the request lists them; null if the policy ranks the fallbacks itself.',
          {
            by: field.word(['policy', 'request'], 'Whose list it is.', 'policy'),
            ...byReason((reason) => field.textList(`Models to try ${FALLBACK_REASONS[reason].when}.`, [])),
          },
          null,
        ),
      ),
    ),
    task: field.text(
      'The task type that Signalbox recognized; `unread` if the request named a model and nothing depended on the task.',
      'coding',
    ),
    task_shares: field.as(
      'mix',
      field.rows(
        'The possible tasks, most likely first; empty if `task` is certain.',
        {
          task: field.text('A task type.', 'coding'),
          share: field.share('The probability of this task.'),
        },
        [],
      ),
    ),
    difficulty: field.word(
      DIFFICULTIES,
      '`easy` for a plainly easy question such as a greeting; `hard` for a question that needs an expert, such as a proof, and for an agent that is stuck; otherwise `usual`.',
      'usual',
    ),
    stuck: field.orAbsent(
      null,
      field.shapeOrNull(
        'The signs that the agent is stuck, read from its tool calls since the user began the task; null if it makes progress, or if the request is not an agent’s.',
        {
          same_failures: field.count(
            'How often a call failed again in the same way, although the agent tried something else.',
            2,
          ),
          failing_runs: field.count(
            'The failing runs of one command since its last success, or the calls that failed in a row; 0 if there was only one.',
            3,
          ),
          undone_edits: field.count('Edits that restored an earlier text, and commands that did so.', 1),
          repeated_calls: field.count(
            'Calls that repeated an earlier call, or ran it after a change, with the same result.',
            0,
          ),
        },
        null,
      ),
    ),
    escalation: field.orAbsent(
      null,
      field.shapeOrNull(
        'The latest signal that an earlier answer of the conversation failed, because of which the strong tier decides; null for none.',
        {
          signal: field.word(ESCALATION_NAMES, 'What failed.', 'correction'),
          turns_ago: field.count('The number of answers since the signal.', 0),
        },
        null,
      ),
    ),
    unescalated: of(
      ({ unescalated }) => unescalated ?? null,
      field.orNull(
        field.viewRow<Unescalated>()({
          signal: field.word(ESCALATION_NAMES, 'What failed.', 'correction'),
          turns_ago: field.count('The number of answers since the signal.', 0),
          why: ofSignal(
            ({ isUnpaid }) => (isUnpaid ? 'money' : 'share_max'),
            field.word(
              ['share_max', 'money'],
              'Why: the key had too many escalated conversations, or its money cannot pay for the strong tier.',
              'share_max',
            ),
          ),
          escalated: ofSignal(
            ({ share }) => share?.escalated ?? null,
            field.wholeOrNull('Escalated conversations of the key in the last hour; null if unknown.', 4),
          ),
          conversations: ofSignal(
            ({ share }) => share?.conversations ?? null,
            field.wholeOrNull('All conversations of the key in the last hour; null if unknown.', 20),
          ),
        }),
        'A signal that did not move the conversation to the strong tier; null for none.',
        null,
      ),
    ),
    conversation: field.orAbsent(
      null,
      field.shapeOrNull(
        'The conversation of the request; null if the policy follows no conversations, and without a tier.',
        {
          id: field.text(
            'A keyed hash of the key, the names of user and session, and the first messages.',
            'p5cX0Zl2Vq8sKd1n',
          ),
          answers: field.count('The number of answers that the request contained.', 2),
        },
        null,
      ),
    ),
    guards: field.orAbsent(
      null,
      field.orNull(
        Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
        'How many matches each guard found in the request, as constraints read it; null if no guard found any.',
      ),
    ),
    first_tier: field.as(
      'tier',
      field.orAbsent(
        null,
        field.shapeOrNull(
          'The tier that the conversation begins with, by its first question; null if all models are ranked for the request.',
          {
            name: field.word(TIERS, 'The tier.', 'usual'),
            hard: field.share('How likely the first question is hard.', 0.12),
          },
        ),
      ),
    ),
    task_stated: of(
      ({ isTaskStated }) => isTaskStated === true,
      field.flag('Whether the caller stated the task, so that the qualities of the task count.', false),
    ),
    natural_language: field.text('The language of the question, as ISO 639-1; `und` if unknown.', 'en'),
    languages: field.as(
      'languagesSeen',
      field.textList(
        'Programming languages that the question is about, in canonical names. These languages do not exclude any model.',
        ['python'],
      ),
    ),
    estimated_input_tokens: field.as('inputTokens', field.count('Expected input tokens.', 120)),
    max_input_tokens: field.as(
      'inputTokensMax',
      field.count('The most input tokens that the text can have with any tokenizer.', 400),
    ),
    counted_input_tokens: field.as(
      'inputTokensCounted',
      field.orNull(
        Type.Record(Type.String(), Type.Integer()),
        'The most input tokens that the text can have, with the tokenizer that counted it; null if an exact count was not needed.',
      ),
    ),
    service_counts: field.orAbsent(
      null,
      field.orNull(
        Type.Record(Type.String(), Type.Object({ tokens: Type.Integer(), margin: Type.Integer() })),
        'By model, the tokens of the prompt with its PDFs as the model’s provider counted them, and the most tokens that the provider may bill beyond this count; null if no such count was needed.',
        null,
      ),
    ),
    cached_input_tokens: of(
      ({ cached }) => Object.fromEntries(cached.map(({ model, tokens }) => [model, tokens])),
      cachedTokens,
    ),
    images: field.count('Images in the request.'),
    audio_bytes: field.count('Bytes of audio in the request, decoded.'),
    pdfs: field.count('PDF files in the request, including files given by URL or ID.'),
    pages: field.count('The expected number of pages of the PDF files, computed from their bytes.'),
    unbounded_media: field.count('Other media whose number of tokens has no known bound.'),
    estimated_output_tokens: field.as(
      'outputTokens',
      field.wholeOrNull(
        'Output tokens of one choice that the caller expects; null if the request does not state them.',
      ),
    ),
    asked_output_tokens: field.as(
      'outputTokensAsked',
      field.wholeOrNull(
        'Output tokens of one choice, estimated from the words, the schema and the text of the request. Null if the default of the task is used.',
      ),
    ),
    max_tokens: field.as(
      'outputTokensMax',
      field.wholeOrNull('The caller’s limit on the output tokens of one choice.'),
    ),
    min_output_tokens: field.as(
      'outputTokensMin',
      field.orAbsent(
        null,
        field.wholeOrNull('The smallest cap on the output tokens of one choice that the answer may get.'),
      ),
    ),
    n: field.as('choices', Type.Integer({ minimum: 1, description: 'The number of choices requested.' })),
    needs: of(
      ({ needs }) => capabilityNames(needs),
      field.list(field.word(CAPABILITY_NAMES, 'A capability.'), 'The capabilities that the model must have.', [
        'tools',
      ]),
    ),
    adapts_forced_tool: of(
      ({ needs }) => (needs & SCHEMA_INSTEAD) !== 0,
      field.flag(
        'True if a model that does not accept a forced function call may answer with the JSON schema of the function’s parameters instead.',
        false,
      ),
    ),
    required_languages: field.as(
      'languages',
      field.textList('Programming languages that the model must handle, in canonical names.', ['typescript']),
    ),
    route_strategy: field.as(
      'weights',
      field.shapeOrNull(
        'The weights that the caller sent, with missing weights from the policy; null if the caller sent none.',
        {
          cost_weight: field.as('cost', field.figure('The weight of cost. Only the ratio of the weights matters.')),
          quality_weight: field.as('quality', field.figure('The weight of quality.')),
          latency_weight: field.as('latency', Type.Optional(field.figure('The weight of latency; absent for 0.'))),
        },
        null,
      ),
    ),
    max_cost_credits: of(
      ({ ceilings }) => ceilings.costCredits,
      field.figureOrNull('The caller’s limit on the expected cost. In Credits.'),
    ),
    max_latency_ms: of(
      ({ ceilings }) => ceilings.latencyMs,
      field.figureOrNull('The caller’s limit on the expected latency. In ms.'),
    ),
    budget_limit: of(
      ({ budget }) => creditsOrNull(budget),
      field.figureOrNull('The most that the request may spend. In Credits.'),
    ),
    max_funded_credits: of(
      ({ funds }) => creditsOrNull(funds?.free),
      field.figureOrNull(
        'The amount that budgets with `on_exhausted: downgrade` had left; null without such a budget. If other budgets could not pay for a named model, they count, too. In Credits.',
      ),
    ),
    capping_fund: of(
      ({ funds }) => funds?.cap ?? null,
      field.shapeOrNull('Of the funds that cap the output, the fund with the least money left; null if no fund does.', {
        name: field.as('by', field.text('The name of a budget, or `balance` for a balance.', 'team-month')),
        unspent_credits: field.as(
          'unspent',
          field.credits(
            'The Credits that the fund had left, not counting requests in progress. The output was capped at this amount.',
            4.67,
          ),
        ),
      }),
    ),
    key_models: field.as('allowedModels', field.textListOrNull('The models that the key may use; null for all.')),
    key_not_models: field.as(
      'deniedModels',
      field.orAbsent(
        null,
        field.textListOrNull('The models of the policy that the key may not use; null if it has no such list.', null),
      ),
    ),
    embedding: field.as(
      'texts',
      field.orAbsent(
        null,
        field.shapeOrNull(
          'The texts, for an operation such as `embed`; null for a conversation.',
          {
            inputs: field.count('Number of texts.', 3),
            longest_input_tokens: field.as('longest', field.count('Expected tokens of the longest text.', 120)),
            dimensions: field.wholeOrNull('The requested length of the vectors; null for the model’s default.', null),
          },
          null,
        ),
      ),
    ),
    thread: field.orAbsent(
      null,
      field.shapeOrNull(
        'The history of the conversation that a provider stores; null if there is none.',
        {
          model: modelId('The model that continues the conversation.'),
          endpoints: field.list(
            Type.Integer(),
            'Positions of the model’s endpoints that have the history, counted from 0.',
            [0],
          ),
          tokens: field.count('Expected tokens of the stored history.', 4_200),
        },
        null,
      ),
    ),
    thought_readers: field.as(
      'readers',
      field.orAbsent(
        null,
        field.textListOrNull(
          'The models that can read the reasoning that belongs to the unfinished tool calls; null if all models can, or if there is no such reasoning.',
          null,
        ),
      ),
    ),
    add_ons: field.orAbsent(
      null,
      field.shapeOrNull('What the provider may bill in addition to tokens; null for nothing.', {
        tier: field.orAbsent(
          null,
          field.textOrNull(
            'The service tier that the request asks for, such as `flex`; null for the default tier.',
            null,
          ),
        ),
        units: field.textList(
          'The units that the provider bills only because the request asks for them, such as `cache_write_1h`.',
          [],
        ),
        tool_uses: field.mapOf(
          Type.Integer(),
          'The most uses of each tool that the provider runs, by name of the tool.',
        ),
        rereadings: field.count('How often the model may read its context again, once after each use of such a tool.'),
        unpriced: field.textList('Fields of the request that change the bill, but have no price in the catalog.', []),
      }),
    ),
  },
);

/** Writes facts in the form of answers. */
export const factsJson = (facts: FactsOfRequest) => field.json(Facts, facts);
