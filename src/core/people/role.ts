/**
 * The role of a caller. `owner` may do everything; keys with the scope `admin` are owners. `admin` may do everything except manage admin
 * keys, owners and admins. `finance` sees money. `auditor` sees everything and changes nothing. `lead` manages its team. `member` has its
 * own keys and usage. `report` reads figures of all keys. `caller` is an application that acts for itself.
 */
export const ROLES = ['owner', 'admin', 'finance', 'auditor', 'lead', 'member', 'report', 'caller'] as const;
export type Role = (typeof ROLES)[number];
