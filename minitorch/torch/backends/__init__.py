"""Where arrays are computed: one folder per device."""
