// Every ledger command of the card terminals.
import { CommandList } from './command-list.tsx';

export function Payments() {
  return <CommandList mode="cards" base="/payments" />;
}
