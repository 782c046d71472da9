/** Everything that a plugin may import. The package publishes this module as `signalbox/plugin`. */
export { Type } from '@sinclair/typebox';
export { beyondLimits } from '../core/json/limits.ts';
export { ListTotal, ListValues } from '../core/json/list-memory.ts';
export { isObject, listOf, objectOf, objectsIn, parseJson, textOf } from '../core/json/object.ts';
export { type Edit, type Members, type Original, type OriginalPath, pathText } from '../core/json/original.ts';
export { repairedJson } from '../core/json/repaired.ts';
export { writeJson, writtenText } from '../core/json/source.ts';
export type { AbortBilling } from '../core/money/abort-billing.ts';
export { statedUsd } from '../core/money/stated-cost.ts';
export { toolUse } from '../core/money/units.ts';
export { canonicalUsage, plainUsage, type ReportedUsage, type Usage } from '../core/money/usage.ts';
export { CAPABILITY_NAMES, type Capability, LACKED_CAPABILITIES } from '../core/request/capability.ts';
export type {
  AnswerFormat,
  AudioPart,
  ContentPart,
  Conversation,
  FilePart,
  ImagePart,
  ModelSettings,
  RefusalPart,
  RoutingTerms,
  TextPart,
  ToolCallPart,
  ToolChoice,
  ToolDefinition,
  Turn,
  TurnRole,
} from '../core/request/conversation.ts';
export type { EmbeddingInput } from '../core/request/embedding.ts';
export type { FieldNames, ModelRequest } from '../core/request/model-request.ts';
export { estimateTokens } from '../core/request/tokens.ts';
export { isWrappedState } from '../core/request/wrapped-state.ts';
export { type CheckBudget, fitsSchema } from '../core/schema/fits.ts';
export { referenced, type StructuredSchema, structuredSchema } from '../core/schema/structured.ts';
export { type LinearPattern, linearPattern, patternSize } from '../core/text/linear-pattern.ts';
export {
  cardsIn,
  emailsIn,
  findCards,
  findEmails,
  findIbans,
  findIps,
  findPhones,
  ibansIn,
  ipsIn,
  phonesIn,
} from '../core/text/personal.ts';
export {
  allIn,
  patternFinder,
  SEARCH_STEP,
  searchIn,
  stepsIn,
  type TextFinder,
  type TextSpan,
} from '../core/text/search.ts';
export { findSecrets, secretsIn } from '../core/text/secret-shapes.ts';
export * from './guard.ts';
export { MATCHES_MAX } from './guard-matches.ts';
export * from './model-server.ts';
export type { EventPlace, FinishReason, ProviderFailure, StreamPart, UnreadOutput } from './parts.ts';
export * from './provider.ts';
export * from './status.ts';
export * from './strategy.ts';
export * from './testing.ts';
