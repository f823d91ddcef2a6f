// What can be done with one row, behind three dots.
import { Icon } from './icons.tsx';
import { Menu, MenuItem } from './menu.tsx';

export interface RowAction {
  word: string;
  run: () => void;
  isDanger?: boolean;
}

export function RowMenu({ label, actions }: { label: string; actions: RowAction[] }) {
  if (actions.length === 0) return null;
  return (
    // A click in it opens no row.
    <span onClick={(event) => event.stopPropagation()} onKeyDown={(event) => event.stopPropagation()} role="presentation">
      <Menu align="end" button={{ className: 'icon-btn', 'aria-label': label, children: <Icon name="more" /> }}>
        {actions.map((action) => (
          <MenuItem key={action.word} isDanger={action.isDanger === true} onChoose={action.run}>
            {action.word}
          </MenuItem>
        ))}
      </Menu>
    </span>
  );
}
