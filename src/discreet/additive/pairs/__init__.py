"""What two features do together: pairs are chosen by what single features leave, then asked about."""
