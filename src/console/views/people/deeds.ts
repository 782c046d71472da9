import { type SendOptions, send } from '../../api/client.ts';
import { renewAll } from '../../api/resource.ts';
import { toast } from '../../design/toast.tsx';

/** What a change of people or keys may alter elsewhere on the page. */
const TOUCHED = ['/admin/keys', '/admin/teams', '/admin/users', '/admin/subjects', '/admin/trail'];

export const renewPeople = (): void => TOUCHED.forEach(renewAll);

/**
 * Does something at once, and says so; a refusal is said, too.
 * @param said "billing-app is suspended"; empty for what the page shows itself
 * @returns the answer; null where it was refused
 */
export async function deed<Answer>(
  path: string,
  said: string,
  {
    method = 'POST',
    undo,
    ...options
  }: SendOptions & { readonly method?: 'POST' | 'PATCH' | 'DELETE'; undo?: () => void } = {},
): Promise<Answer | null> {
  const result = await send<Answer>(method, path, options);
  if (!result.ok) {
    toast(result.failure.message);
    return null;
  }
  renewPeople();
  if (said !== '') toast(said, undo);
  return result.value;
}
