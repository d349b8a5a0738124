package main

func (a *app) credentials() (map[string]string, error) { return a.creds, nil }
