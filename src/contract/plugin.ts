/** Everything that a plugin may import. The package publishes this module as `signalbox/plugin`. */
export { Type } from '@sinclair/typebox';
export type { AbortBilling } from '../core/abort-billing.ts';
export type { AddOns } from '../core/add-ons.ts';
export { CAPABILITY_NAMES, type Capability, LACKED_CAPABILITIES } from '../core/capability.ts';
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
} from '../core/conversation.ts';
export type { EmbeddingInput, EmbeddingQuery } from '../core/embedding.ts';
export { logitOf, moved, sigmoid } from '../core/estimate.ts';
export { beyondLimits } from '../core/json-limits.ts';
export type { FieldNames, ModelRequest } from '../core/model-request.ts';
export { isObject, listOf, objectOf, objectsIn, parseJson, textOf } from '../core/object.ts';
export { type Edit, type Members, type Original, type OriginalPath, pathText } from '../core/original.ts';
export { referenced, type StructuredSchema, structuredSchema } from '../core/structured-schema.ts';
export { estimateTokens } from '../core/tokens.ts';
export { canonicalUsage, plainUsage, type ReportedTokens, type Usage } from '../core/usage.ts';
export { isWrappedState } from '../core/wrapped-state.ts';
export { defineEstimator } from './former-estimator.ts';
export * from './model-server.ts';
export type { EventPlace, FinishReason, ProviderFailure, StreamPart, UnreadOutput } from './parts.ts';
export * from './provider.ts';
export * from './status.ts';
export * from './strategy.ts';
export * from './testing.ts';
