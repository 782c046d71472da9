import type { Static } from '@sinclair/typebox';
import type { ContentPolicy } from '../core/content.ts';
import type { Program } from './cel-check.ts';
import { budgetViewOf } from './cel-types.ts';
import { type ExpressionDraft, expressionAt } from './rule-drafts.ts';
import type { RecordsText } from './schema-records.ts';
import { type CheckContext, sectionSubject } from './sections.ts';

/** What the policy says of the words of requests, but for whose they are. */
export type ContentDraft = Omit<ContentPolicy, 'match'>;

/** Null where nothing is to be kept. */
export function draftContent({ content }: Static<typeof RecordsText>): ContentDraft | null {
  if (!content) return null;
  const { keep, redact, retention_days: days } = content;
  return { keepsPrompt: keep.includes('prompt'), keepsAnswer: keep.includes('answer'), redact, days };
}

/** Whose words are kept: looked at by itself, so that what is wrong elsewhere does not hide what is wrong with it. */
export function contentMatch(context: CheckContext): ExpressionDraft | null {
  return expressionAt(sectionSubject('records', context), 'content', 'match');
}

/** As the gateway uses it. `match` is the checked expression; null where there is none. */
export function compileContent(draft: ContentDraft | null, match: Program | null): ContentPolicy | null {
  return draft && { ...draft, match: match && ((scope) => match.run(budgetViewOf(scope))) };
}
