import { Type } from '@sinclair/typebox';
import * as field from '../core/api/parts.ts';
import { CAPABILITY_NAMES } from '../core/capability.ts';
import { DIFFICULTIES } from '../core/facts.ts';
import { OPERATION_NAMES } from '../core/operation.ts';
import { cachedTokens } from './certificate.ts';

export const Facts = field.shape('The facts that the decision was based on. They contain no text of the request.', {
  operation: field.word(OPERATION_NAMES, 'The operation of the request.'),
  model: field.text('The selector or the model’s ID that `model` of the request stands for.', 'auto'),
  alias: field.textOrNull('The alias that the request used as `model`; null for the name itself.'),
  pinned: field.flag('True when the request named one model.'),
  task: field.text(
    'The task type that Signalbox recognized; `unread` if the request named a model and nothing depended on it.',
    'coding',
  ),
  task_shares: field.rows(
    'The possible tasks, most likely first; empty if `task` is certain.',
    {
      task: field.text('A task type.', 'coding'),
      share: field.share('The probability of this task.'),
    },
    [],
  ),
  difficulty: field.word(
    DIFFICULTIES,
    '`easy` for a plainly easy question such as a greeting; `hard` for one that needs an expert, such as a proof; otherwise `usual`.',
    'usual',
  ),
  quality_factor: field.figureOrNull(
    'How many times as much quality weighed because the request is hard; null for a request that is not, and where `hard_quality_factor` is `none`.',
    null,
  ),
  natural_language: field.text('The language of the question, as ISO 639-1; `und` if unknown.', 'en'),
  languages: field.textList(
    'Programming languages that the question is about, in canonical names. They exclude no model.',
    ['python'],
  ),
  estimated_input_tokens: field.tokens('Expected input tokens.', 120),
  max_input_tokens: field.tokens('Input tokens that the text cannot exceed under any tokenizer.', 400),
  counted_input_tokens: field.orNull(
    Type.Record(Type.String(), Type.Integer()),
    'Input tokens that the text cannot exceed, by the tokenizer that counted it; null where none had to.',
  ),
  service_counts: field.orNull(
    Type.Record(Type.String(), Type.Object({ tokens: Type.Integer(), margin: Type.Integer() })),
    'The prompt with its PDFs as the service of a model counted it, and the most tokens that it may bill beyond its count, by model; null where none had to.',
    null,
  ),
  cached_input_tokens: cachedTokens,
  images: field.count('Images in the request.'),
  audio_bytes: field.count('Bytes of audio in the request, decoded.'),
  pdfs: field.count('PDF files in the request, files by an address or an ID included.'),
  pages: field.count('Pages expected of them, by their bytes.'),
  unbounded_media: field.count('Other media, for which no bound of tokens is known.'),
  estimated_output_tokens: field.wholeOrNull(
    'Output tokens of one choice that the caller expects; null where none are stated.',
  ),
  asked_output_tokens: field.wholeOrNull(
    'Output tokens of one choice, estimated from the request: its words, a schema, its text. Null if the figure of the task is used.',
  ),
  max_tokens: field.wholeOrNull('The caller’s cap on the output tokens of one choice.'),
  min_output_tokens: field.wholeOrNull('The least output tokens of one choice that the answer may be capped at.'),
  n: Type.Integer({ minimum: 1, description: 'The number of choices requested.' }),
  needs: field.arrayOf(field.word(CAPABILITY_NAMES, 'A capability.'), 'The capabilities that the model must have.', [
    'tools',
  ]),
  adapts_forced_tool: field.flag(
    'True when a model that refuses the forced call may answer in a JSON schema of the function’s parameters.',
    false,
  ),
  required_languages: field.textList('Programming languages that the model must handle, in canonical names.', [
    'typescript',
  ]),
  route_strategy: field.shapeOrNull(
    'The caller’s weights, completed by the policy’s; null when none were sent.',
    {
      cost_weight: field.figure('How much cost counts. Only the ratio matters.'),
      quality_weight: field.figure('How much quality counts.'),
      latency_weight: Type.Optional(field.figure('How much latency counts; absent for 0.')),
    },
    null,
  ),
  max_cost_credits: field.figureOrNull('The caller’s ceiling of the expected cost. In Credits.'),
  max_latency_ms: field.figureOrNull('The caller’s ceiling of the expected latency. In ms.'),
  budget_limit: field.figureOrNull('Most that the request may consume. In Credits.'),
  max_funded_credits: field.figureOrNull(
    'The amount that budgets with `on_exhausted: downgrade` had left; null without such a budget. In Credits.',
  ),
  capping_fund: field.shapeOrNull('The fund with the least money of those that cap outputs; null without one.', {
    name: field.text('A budget; `balance` for a balance.', 'team-month'),
    unspent_credits: field.credits(
      'What it had left, requests in progress aside: the output was capped at that.',
      4.67,
    ),
  }),
  key_models: field.textListOrNull('The models that the key may use; null for all.'),
  embedding: field.shapeOrNull(
    'The texts to embed; null for another operation.',
    {
      inputs: field.count('Number of texts.', 3),
      longest_input_tokens: field.tokens('Expected tokens of the longest text.', 120),
      dimensions: field.wholeOrNull('The length of vectors asked for; null for the model’s own.', null),
    },
    null,
  ),
  thread: field.shapeOrNull(
    'The history that a service keeps of the conversation; null for none.',
    {
      model: field.modelId('The model that goes on with it.'),
      endpoints: field.arrayOf(Type.Integer(), 'The endpoints of that model at the service, from 0.', [0]),
      tokens: field.tokens('Expected tokens of the history.', 4_200),
    },
    null,
  ),
  thought_readers: field.textListOrNull(
    'The models that can read the thoughts of the tool calls under way; null where all can, or none.',
    null,
  ),
  add_ons: field.shapeOrNull('What the request lets a provider bill beside tokens; null for nothing.', {
    hour_cache: field.flag('Whether parts of the prompt are to be kept in the cache for an hour.'),
    tool_uses: field.mapOf(Type.Integer(), 'The most uses of each tool that the provider runs, by name.'),
    rereadings: field.count('Times that the model may read its context anew, after each use of such a tool.'),
    unpriced: field.textList('Fields of the request that change the bill by no price of the catalog.', []),
  }),
});
