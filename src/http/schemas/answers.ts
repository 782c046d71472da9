import {
  ChatCompletion,
  ChatCompletionChunk,
  StreamError,
  Usage,
} from '../../surface/openai-chat/completion-schema.ts';
import { ErrorBody } from '../../surface/openai-chat/error-schema.ts';
import { Platform, PlatformPayment } from '../../surface/schemas/platform.ts';
import { Payment, PaymentList, PaymentTerms, Wallet, WalletKey, WalletStatus, WalletTopUp } from '../x402/schemas.ts';
import { RouteAdvice } from './advice.ts';
import { KeptContent } from './content.ts';
import { Decision } from './decision.ts';
import { Feedback } from './feedback.ts';
import { Health, Readiness } from './health.ts';
import { ApiKey, ApiKeyList, ApiKeyStatus, KeyTrail, NewApiKey } from './keys.ts';
import { LedgerStatus } from './ledger.ts';
import { Model, ModelList } from './model.ts';
import { PolicyReload, PolicyStatus } from './policy.ts';
import { EndpointList, LearningStatus } from './status.ts';
import { AdminUsage, UsageReport } from './usage.ts';

/** The schema of every answer, by the name that it has in the API's documentation. */
export const ANSWERS = {
  AdminUsage,
  ApiKey,
  ApiKeyList,
  ApiKeyStatus,
  ChatCompletion,
  ChatCompletionChunk,
  Decision,
  EndpointList,
  ErrorBody,
  Feedback,
  Health,
  KeptContent,
  KeyTrail,
  LearningStatus,
  LedgerStatus,
  Model,
  ModelList,
  NewApiKey,
  Payment,
  PaymentList,
  PaymentTerms,
  Platform,
  PlatformPayment,
  PolicyReload,
  PolicyStatus,
  Readiness,
  RouteAdvice,
  StreamError,
  Usage,
  UsageReport,
  Wallet,
  WalletKey,
  WalletStatus,
  WalletTopUp,
} as const;
