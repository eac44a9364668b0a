// Whether the customer's window is open on the second display.
export const display = $state({ open: false });
